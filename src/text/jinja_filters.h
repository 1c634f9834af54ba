#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_interpreter.h"
#include "text/value.h"

namespace tercet::jinja {

using Filter = Value (*)(Interpreter&, const Value& input, const Arguments&);
using FilterTable = std::vector<std::pair<std::string_view, Filter>>;

/// The filter of that name, or null.
Filter find_filter(std::string_view name);

/// The filters, by file.
const FilterTable& text_filters();
const FilterTable& number_filters();
const FilterTable& sequence_filters();
const FilterTable& order_filters();
const FilterTable& selection_filters();

/// What the argument `attribute` of many filters asks for: a path of names and indices into each item.
class AttributePath {
 public:
  /// From "a.b.0", an integer, or None (the item itself).
  explicit AttributePath(const Value& attribute);
  /// `otherwise`, where it is neither missing nor None, stands for undefined values on the way.
  Value get(Interpreter& interpreter, Value item, const Value& otherwise = Value()) const;

 private:
  List parts_;
};

/// The paths of "a,b.c" as one key: a list of values.
std::vector<AttributePath> attribute_paths(const Value& attribute);

/// Text in lower case, anything else as it is.
Value ignore_case(const Value& value);

}  // namespace tercet::jinja
