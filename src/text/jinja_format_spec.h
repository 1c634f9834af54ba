#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/value.h"

namespace tercet::jinja {

/// How a value is laid out: Python's format specification, which the % operator's flags map to.
struct FormatSpec {
  char32_t fill = ' ';
  char align = '\0';  ///< '<', '>', '^', '=' (after the sign), or none
  char sign = '-';    ///< '-', '+' or ' '
  bool alternate = false;
  char group = '\0';  ///< ',' or '_' between thousands
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

/// The specification after the colon of a replacement field. `type_name` is the value's, for errors.
FormatSpec parse_format_spec(std::string_view text, const std::string& type_name);

std::string format_text(std::string_view text, const FormatSpec& spec, Budget& budget);
/// `spec.type`: d, b, o, x, X or c.
std::string format_int(Int value, const FormatSpec& spec, Budget& budget);
/// `spec.type`: e, E, f, F, g, G, % or none.
std::string format_float(double value, const FormatSpec& spec, Budget& budget);

}  // namespace tercet::jinja
