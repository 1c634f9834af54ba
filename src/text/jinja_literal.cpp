#include "text/jinja_literal.h"

#include <array>
#include <cstdio>

#include "text/jinja_budget.h"
#include "text/jinja_unicode.h"

namespace tercet::jinja {
namespace {

bool is_digit_of(char c, int base) {
  if (base == 16) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return c >= '0' && c < '0' + base;
}

/// Appends the character of `\x`, `\u` or `\U`, whose digits begin at `at`; returns the place after them.
size_t append_hex(std::string& out, std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) fail("truncated escape at the end of a string");
  char32_t value = 0;
  for (const char c : text.substr(at, count)) {
    if (!is_digit_of(c, 16)) fail("truncated escape in a string");
    value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  append_character(out, value);
  return at + count;
}

size_t append_octal(std::string& out, std::string_view text, size_t at) {
  char32_t value = 0;
  const size_t limit = at + 3;
  for (; at < text.size() && at < limit && is_digit_of(text[at], 8); ++at) {
    value = value * 8 + static_cast<char32_t>(text[at] - '0');
  }
  append_character(out, value);
  return at;
}

/// A backslash before a character that is not ASCII stays, and the character is spelled in digits: Python
/// decodes the literal from its ASCII form.
size_t append_escaped_wide(std::string& out, std::string_view text, size_t at) {
  const std::string_view bytes = text.substr(at, character_bytes(text.substr(at)));
  const auto point = static_cast<unsigned>(to_code_points(bytes)[0]);
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(),
                point < 0x100     ? "\\x%02x"
                : point < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                point);
  out += digits.data();
  return at + bytes.size();
}

/// Appends what the escape stands for whose letter is at `at`; returns the place after it.
size_t append_escape(std::string& out, std::string_view text, size_t at) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const char c = text[at];
  if (const size_t known = kLetters.find(c); known != std::string_view::npos) {
    out += kMeanings[known];
    return at + 1;
  }
  if (c == '\n') return at + 1;
  if (c == 'x') return append_hex(out, text, at + 1, 2);
  if (c == 'u') return append_hex(out, text, at + 1, 4);
  if (c == 'U') return append_hex(out, text, at + 1, 8);
  if (c == 'N') fail("\\N{...} is not supported in a string; write the character itself");
  if (is_digit_of(c, 8)) return append_octal(out, text, at);
  if (static_cast<unsigned char>(c) >= 0x80) return append_escaped_wide(out, text, at);
  out += '\\';
  out += c;
  return at + 1;
}

}  // namespace

size_t string_literal_end(std::string_view source, size_t at) {
  const char quote = source[at];
  for (size_t i = at + 1; i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (source[i] == quote) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::string unescape(std::string_view inside) {
  std::string out;
  for (size_t at = 0; at < inside.size();) {
    if (inside[at] == '\\') {
      at = append_escape(out, inside, at + 1);
    } else {
      out += inside[at++];
    }
  }
  return out;
}

size_t integer_literal_end(std::string_view source, size_t at) {
  int base = 10;
  size_t end = at;
  if (source[at] == '0' && at + 1 < source.size()) {
    const char letter = static_cast<char>(source[at + 1] | 32);
    if (letter == 'x') base = 16;
    if (letter == 'o') base = 8;
    if (letter == 'b') base = 2;
    if (base != 10) end = at + 2;
  }
  const bool zeros = base == 10 && source[at] == '0';  // a decimal that begins with 0 holds nothing else
  const auto digit_at = [&](size_t i) {
    return i < source.size() && (zeros ? source[i] == '0' : is_digit_of(source[i], base));
  };
  const size_t first = end;
  while (digit_at(end) || (end < source.size() && source[end] == '_' && end > at && digit_at(end + 1))) ++end;
  return end == first ? at + 1 : end;  // a prefix without digits is a lone 0
}

}  // namespace tercet::jinja
