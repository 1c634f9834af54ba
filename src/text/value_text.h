#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/value.h"

namespace tercet::jinja {

/// Python's str(x) and repr(x). Lengths are checked against the budget while they grow.
std::string to_text(const Value& value, Budget& budget);
std::string repr(const Value& value, Budget& budget);
void append_repr(std::string& out, const Value& value, Budget& budget);
void append_quoted(std::string& out, std::string_view text);

std::string int_text(Int value);
/// repr() of a float: the shortest digits that give the same number.
std::string float_text(double value);

/// int(text, base) and float(text), or nothing where Python raises ValueError; fails beyond 128 bits.
std::optional<Int> parse_int(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);

}  // namespace tercet::jinja
