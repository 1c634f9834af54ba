#include "text/jinja_format_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

constexpr int64_t kMaxPrecision = 1000;

bool is_align(char32_t c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

int64_t take_number(std::u32string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = std::min<int64_t>(value * 10 + static_cast<int64_t>(text[at++] - '0'), INT32_MAX);
  }
  return value;
}

/// `digits` with a separator before every third (binary, octal, hexadecimal: fourth) from the right.
std::string grouped(std::string_view digits, const FormatSpec& spec) {
  if (spec.group == '\0') return std::string(digits);
  const bool decimal =
      std::string_view("boxX").find(spec.type) == std::string_view::npos || spec.type == '\0';
  const size_t size = decimal ? 3 : 4;
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) out += spec.group;
    out += digits[i];
  }
  return out;
}

/// Sign and prefix, the digits, and padding where the specification asks for it; numbers stand right by
/// default.
std::string laid_out(const std::string& lead, std::string_view body, const FormatSpec& spec, Budget& budget) {
  if (spec.align == '=') {
    const int64_t room = spec.width - static_cast<int64_t>(lead.size());
    return lead + padded(body, room, Side::kLeft, spec.fill, budget);
  }
  const Side side = spec.align == '<' ? Side::kRight : spec.align == '^' ? Side::kBoth : Side::kLeft;
  return padded(lead + std::string(body), spec.width, side, spec.fill, budget);
}

std::string sign_of(bool minus, const FormatSpec& spec) {
  if (minus) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string digits_of(Int value, int base, bool capital) {
  auto rest = static_cast<unsigned __int128>(value);
  if (value < 0) rest = -rest;
  std::string digits;
  do {
    const auto digit = static_cast<int>(rest % static_cast<unsigned>(base));
    digits += static_cast<char>(digit < 10 ? '0' + digit : (capital ? 'A' : 'a') + digit - 10);
    rest /= static_cast<unsigned>(base);
  } while (rest != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string printed(double value, char type, int64_t precision, bool alternate) {
  const std::string format = std::string("%") + (alternate ? "#" : "") + ".*" + type;
  std::string text(static_cast<size_t>(precision) + 400, '\0');
  const int length =
      std::snprintf(text.data(), text.size(), format.c_str(), static_cast<int>(precision), value);
  text.resize(static_cast<size_t>(length));
  return text;
}

/// The digits of a value that is not negative.
std::string float_digits(double value, const FormatSpec& spec) {
  if (spec.type == '\0' && spec.precision < 0) return float_text(value);
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if (precision > kMaxPrecision) fail("precision too large");
  if (spec.type == '%') return printed(value * 100, 'f', precision, spec.alternate) + "%";
  if (spec.type != '\0') return printed(value, spec.type, precision, spec.alternate);
  std::string text = printed(value, 'g', precision, false);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

FormatSpec parse_format_spec(std::string_view bytes, const std::string& type_name) {
  const std::u32string text = to_code_points(bytes);
  FormatSpec spec;
  size_t at = 0;
  const auto skip = [&](char32_t c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  if (text.size() >= 2 && is_align(text[1])) {
    spec.fill = text[0];
    spec.align = static_cast<char>(text[1]);
    at = 2;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = static_cast<char>(text[0]);
    at = 1;
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) {
    spec.sign = static_cast<char>(text[at++]);
  }
  spec.alternate = skip('#');
  if (skip('0') && spec.align == '\0') {
    spec.fill = '0';
    spec.align = type_name == "str" ? '<' : '=';
  }
  spec.width = take_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.group = static_cast<char>(text[at++]);
  if (skip('.')) {
    if (at >= text.size() || text[at] < '0' || text[at] > '9') fail("Format specifier missing precision");
    spec.precision = take_number(text, at);
  }
  if (at < text.size() && text[at] > 0 && text[at] < 0x80) spec.type = static_cast<char>(text[at++]);
  if (at < text.size()) {
    fail("Invalid format specifier '" + std::string(bytes) + "' for object of type '" + type_name + "'");
  }
  return spec;
}

std::string format_text(std::string_view text, const FormatSpec& spec, Budget& budget) {
  if (spec.precision >= 0 && spec.precision < code_point_count(text))
    text = slice_code_points(text, 0, spec.precision);
  const Side side = spec.align == '>' ? Side::kLeft : spec.align == '^' ? Side::kBoth : Side::kRight;
  return padded(text, spec.width, side, spec.fill, budget);
}

std::string format_int(Int value, const FormatSpec& spec, Budget& budget) {
  if (spec.type == 'c') {
    std::string character;
    append_character(character, value < 0 || value > 0x10ffff ? 0x110000 : static_cast<char32_t>(value));
    return format_text(character, spec, budget);
  }
  const int base = spec.type == 'b'                       ? 2
                   : spec.type == 'o'                     ? 8
                   : spec.type == 'x' || spec.type == 'X' ? 16
                                                          : 10;
  std::string lead = sign_of(value < 0, spec);
  if (spec.alternate && base != 10) lead += std::string("0") + spec.type;
  std::string digits = digits_of(value, base, spec.type == 'X');
  if (spec.precision > static_cast<int64_t>(digits.size())) {
    digits = padded(digits, spec.precision, Side::kLeft, '0', budget);
  }
  return laid_out(lead, grouped(digits, spec), spec, budget);
}

std::string format_float(double value, const FormatSpec& spec, Budget& budget) {
  const bool minus = std::signbit(value) && !std::isnan(value);
  std::string text = float_digits(std::fabs(value), spec);
  const size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  if (whole > 0) text = grouped(std::string_view(text).substr(0, whole), spec) + text.substr(whole);
  return laid_out(sign_of(minus, spec), text, spec, budget);
}

}  // namespace tercet::jinja
