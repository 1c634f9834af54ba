#include "text/jinja_arguments.h"

#include <algorithm>

namespace tercet::jinja {

Bound::Bound(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, size_t required)
    : function_(function), values_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    fail(function_ + "() takes at most " + std::to_string(names.size()) + " arguments (" +
         std::to_string(arguments.positional.size()) + " given)");
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto* at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) fail(function_ + "() got an unexpected keyword argument '" + name + "'");
    Value& slot = values_[static_cast<size_t>(at - names.begin())];
    if (!slot.is_missing()) fail(function_ + "() got multiple values for argument '" + name + "'");
    slot = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!has(i)) fail(function_ + "() is missing the argument '" + std::string(*(names.begin() + i)) + "'");
  }
}

int64_t Bound::integer(size_t i, int64_t otherwise) const {
  return has(i) ? to_index(values_[i]) : otherwise;
}

std::string Bound::text(size_t i, std::string_view otherwise) const {
  if (!has(i)) return std::string(otherwise);
  if (values_[i].is_undefined()) fail(values_[i].undefined_message());
  if (!values_[i].is_string()) {
    fail(function_ + "() argument " + std::to_string(i + 1) + " must be str, not " + values_[i].type_name());
  }
  return values_[i].as_string();
}

int64_t to_index(const Value& value) {
  if (value.is_undefined()) fail(value.undefined_message());
  const auto whole = value.integer();
  if (!whole) fail("'" + value.type_name() + "' object cannot be interpreted as an integer");
  return static_cast<int64_t>(std::clamp<Int>(*whole, INT64_MIN, INT64_MAX));
}

}  // namespace tercet::jinja
