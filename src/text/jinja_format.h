#pragma once

#include <string>

#include "text/value.h"

namespace tercet::jinja {

/// `format % values` as Python's str.__mod__ has it.
std::string percent_format(const std::string& format, const Value& values, Budget& budget);

/// format.format(*positional, **named), with fields, attributes, keys, conversions and format specifications.
std::string brace_format(const std::string& format, const Arguments& values, Interpreter& interpreter);

}  // namespace tercet::jinja
