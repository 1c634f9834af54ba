#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tercet::jinja {

/// The end of the string literal whose opening quote is at `at`, or npos where it is not closed.
size_t string_literal_end(std::string_view source, size_t at);
/// The value of a literal's inside: Python's escapes, unknown ones kept.
std::string unescape(std::string_view inside);
/// The end of the integer literal whose first digit is at `at`: decimal, 0x, 0o, 0b, with underscores.
size_t integer_literal_end(std::string_view source, size_t at);

}  // namespace tercet::jinja
