#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "text/value.h"

namespace tercet::jinja {

/// The arguments of one call, by parameter. Fails for too many, unknown, repeated and missing ones.
class Bound {
 public:
  /// The first `required` of `names` must be given.
  Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
        size_t required = 0);

  /// The argument, or a missing value.
  const Value& operator[](size_t i) const { return values_[i]; }
  bool has(size_t i) const { return !values_[i].is_missing(); }
  /// Given, and not None.
  bool is_set(size_t i) const { return has(i) && !values_[i].is_none(); }
  Value value(size_t i, Value otherwise) const { return has(i) ? values_[i] : otherwise; }
  bool truth(size_t i, bool otherwise) const { return has(i) ? values_[i].truth() : otherwise; }
  /// Fail where the argument has another type.
  int64_t integer(size_t i, int64_t otherwise) const;
  std::string text(size_t i, std::string_view otherwise) const;

 private:
  std::string function_;
  List values_;
};

/// A 64-bit integer (values beyond are clamped to its ends), or Python's error.
int64_t to_index(const Value& value);

}  // namespace tercet::jinja
