#include "text/jinja_filters.h"

#include <algorithm>

#include "text/jinja_unicode.h"
#include "text/value_text.h"

namespace tercet::jinja {

Filter find_filter(std::string_view name) {
  for (const FilterTable* table :
       {&text_filters(), &number_filters(), &sequence_filters(), &order_filters(), &selection_filters()}) {
    const auto at =
        std::find_if(table->begin(), table->end(), [&](const auto& entry) { return entry.first == name; });
    if (at != table->end()) return at->second;
  }
  return nullptr;
}

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is_missing() || attribute.is_none()) return;
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return;
  }
  std::string_view rest = attribute.as_string();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    parts_.push_back(digits ? Value(*parse_int(part, 10)) : Value(part));
    if (dot == std::string_view::npos) return;
    rest.remove_prefix(dot + 1);
  }
}

Value AttributePath::get(Interpreter& interpreter, Value item, const Value& otherwise) const {
  interpreter.budget().step();
  for (const Value& part : parts_) {
    item = interpreter.item(item, part);
    if (item.is_undefined() && !otherwise.is_missing() && !otherwise.is_none()) item = otherwise;
  }
  return item;
}

std::vector<AttributePath> attribute_paths(const Value& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute.is_string()) {
    paths.emplace_back(attribute);
    return paths;
  }
  std::string_view rest = attribute.as_string();
  while (true) {
    const size_t comma = rest.find(',');
    paths.emplace_back(Value(rest.substr(0, comma)));
    if (comma == std::string_view::npos) return paths;
    rest.remove_prefix(comma + 1);
  }
}

Value ignore_case(const Value& value) {
  return value.is_string() ? Value(change_case(value.as_string(), Case::kLower)) : value;
}

}  // namespace tercet::jinja
