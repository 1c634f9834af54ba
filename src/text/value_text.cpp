#include "text/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "text/jinja_unicode.h"

namespace tercet::jinja {
namespace {

void append_escape(std::string& out, char32_t c) {
  std::array<char, 12> text{};
  const char* format = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(c));
  out += text.data();
}

void append_joined(std::string& out, const List& items, Budget& budget) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, items[i], budget);
  }
}

void append_dict(std::string& out, const Dict& dict, Budget& budget) {
  out += '{';
  for (const auto& [key, value] : dict.items()) {
    if (&key != &dict.items().front().first) out += ", ";
    append_repr(out, key, budget);
    out += ": ";
    append_repr(out, value, budget);
  }
  out += '}';
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 36;
}

/// Digits with single underscores between them (and, after a prefix like 0x, before them), or nothing.
std::optional<std::string> without_underscores(std::string_view text, int base, bool may_lead) {
  std::string digits;
  bool separated = may_lead;  // an underscore may come next
  for (const char c : text) {
    if (c == '_') {
      if (!separated) return std::nullopt;
      separated = false;
    } else {
      if (digit_of(c) >= base) return std::nullopt;
      digits += c;
      separated = true;
    }
  }
  if (digits.empty() || text.back() == '_') return std::nullopt;
  return digits;
}

int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 0;
  }
}

/// True for what the grammar of Python's float() takes once spaces, sign and underscores are gone.
bool is_decimal_number(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - start;
  };
  size_t count = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    count += digits();
  }
  if (count == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

}  // namespace

std::string int_text(Int value) {
  auto rest = static_cast<unsigned __int128>(value);
  if (value < 0) rest = -rest;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (value < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  const size_t e = text.find('e');
  int exponent = 0;
  const std::string_view power = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string out = std::signbit(value) ? "-" : "";
  const auto count = static_cast<int>(digits.size());
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return out + digits.substr(0, static_cast<size_t>(exponent + 1)) + "." +
         digits.substr(static_cast<size_t>(exponent + 1));
}

void append_quoted(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const std::string_view bytes = text.substr(0, character_bytes(text));
    text.remove_prefix(bytes.size());
    const char c = bytes[0];
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c >= ' ' && c < 0x7f) {
      out += c;
    } else if (const char32_t point = to_code_points(bytes)[0]; is_printable(point)) {
      out += bytes;
    } else {
      append_escape(out, point);
    }
  }
  out += quote;
}

void append_repr(std::string& out, const Value& value, Budget& budget) {
  const DepthGuard guard(budget);
  budget.step();
  budget.grown(static_cast<int64_t>(out.size()));
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      out += "Undefined";
      break;
    case Value::Kind::kNone:
      out += "None";
      break;
    case Value::Kind::kBool:
      out += value.as_bool() ? "True" : "False";
      break;
    case Value::Kind::kInt:
      out += int_text(*value.integer());
      break;
    case Value::Kind::kFloat:
      out += float_text(value.as_float());
      break;
    case Value::Kind::kString:
      append_quoted(out, value.as_string());
      break;
    case Value::Kind::kList:
      out += '[';
      append_joined(out, value.items(), budget);
      out += ']';
      break;
    case Value::Kind::kTuple:
      out += '(';
      append_joined(out, value.items(), budget);
      out += value.items().size() == 1 ? ",)" : ")";
      break;
    case Value::Kind::kDict:
      append_dict(out, value.as_dict(), budget);
      break;
    case Value::Kind::kObject:
      value.as_object().repr(out, budget);
      break;
  }
}

std::string repr(const Value& value, Budget& budget) {
  std::string out;
  append_repr(out, value, budget);
  budget.text(static_cast<int64_t>(out.size()));
  return out;
}

std::string to_text(const Value& value, Budget& budget) {
  if (value.is_string()) {
    budget.text(static_cast<int64_t>(value.as_string().size()));
    return value.as_string();
  }
  return value.is_undefined() ? std::string() : repr(value, budget);
}

std::optional<Int> parse_int(std::string_view text, int base) {
  text = strip(text, true, true);
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  const int prefix = prefix_base(text);
  const bool prefixed = prefix != 0 && (base == 0 || base == prefix);
  if (prefixed) text.remove_prefix(2);
  const int radix = prefixed ? prefix : base == 0 ? 10 : base;
  const auto digits = without_underscores(text, radix, prefixed);
  if (!digits) return std::nullopt;
  const bool all_zero = digits->find_first_not_of('0') == std::string::npos;
  if (base == 0 && !prefixed && digits->front() == '0' && !all_zero) return std::nullopt;
  Int value = 0;
  for (const char c : *digits) {
    if (__builtin_mul_overflow(value, static_cast<Int>(radix), &value) ||
        __builtin_add_overflow(value, static_cast<Int>(digit_of(c)), &value)) {
      fail("the integer " + std::string(text.substr(0, 60)) + " does not fit 128 bits; use a smaller one");
    }
  }
  return minus ? -value : value;
}

std::optional<double> parse_float(std::string_view text) {
  text = strip(text, true, true);
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  const double sign = minus ? -1.0 : 1.0;
  const std::string lower = change_case(text.substr(0, 9), Case::kLower);
  if (lower == "inf" || lower == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || digit_of(text[i - 1]) > 9 || digit_of(text[i + 1]) > 9) {
      return std::nullopt;
    }
  }
  if (!is_decimal_number(plain)) return std::nullopt;
  return sign * std::strtod(plain.c_str(), nullptr);
}

}  // namespace tercet::jinja
