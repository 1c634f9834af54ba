#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tercet::jinja {

/// Python's view of text: code points, and its notions of space, case, digits and printability. All views are
/// valid UTF-8.

/// The bytes of the first code point of a text that is not empty.
size_t character_bytes(std::string_view text);
int64_t code_point_count(std::string_view text);
std::u32string to_code_points(std::string_view text);
std::string to_utf8(std::u32string_view text);
/// Appends one code point; fails for a surrogate, which UTF-8 cannot hold.
void append_character(std::string& out, char32_t character);
/// The text between two positions counted in code points, 0 <= first <= last <= count.
std::string_view slice_code_points(std::string_view text, int64_t first, int64_t last);

bool is_space(char32_t c);         ///< str.isspace()
bool is_printable(char32_t c);     ///< str.isprintable(): what repr() shows as it is
bool is_letter(char32_t c);        ///< str.isalpha()
bool is_decimal(char32_t c);       ///< str.isdecimal()
bool is_digit(char32_t c);         ///< str.isdigit()
bool is_alphanumeric(char32_t c);  ///< str.isalnum(), near enough: any letter or number category
bool is_cased(char32_t c);
bool is_lowercase(char32_t c);
bool is_uppercase(char32_t c);
bool is_line_break(char32_t c);  ///< what str.splitlines() splits at

enum class Case { kLower, kUpper, kTitle };
/// str.lower(), str.upper(), and every character in title case; full mappings, final sigma included.
std::string change_case(std::string_view text, Case to);
/// str.capitalize(), str.title(), str.swapcase().
std::string capitalized(std::string_view text);
std::string title_words(std::string_view text);
std::string swapped_case(std::string_view text);

/// Without the spaces, or the characters of `characters`, at the chosen ends.
std::string_view strip(std::string_view text, bool left, bool right);
std::string_view strip(std::string_view text, bool left, bool right, std::string_view characters);

}  // namespace tercet::jinja
