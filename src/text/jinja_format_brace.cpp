#include <algorithm>

#include "text/jinja_format.h"
#include "text/jinja_format_spec.h"
#include "text/jinja_interpreter.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

std::string formatted(const Value& value, std::string_view text, Budget& budget) {
  if (text.empty()) return to_text(value, budget);
  const std::string type = value.type_name();
  const FormatSpec spec = parse_format_spec(text, type);
  const auto refuse = [&] {
    fail(std::string("Unknown format code '") + spec.type + "' for object of type '" + type + "'");
  };
  const bool for_floats =
      std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type != '\0';
  if (value.is_string()) {
    if (spec.type != '\0' && spec.type != 's') refuse();
    if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
    return format_text(value.as_string(), spec, budget);
  }
  if (value.integer() && !for_floats) {
    if (spec.type != '\0' && std::string_view("dboxXcn").find(spec.type) == std::string_view::npos) refuse();
    if (spec.precision >= 0) fail("Precision not allowed in integer format specifier");
    return format_int(*value.integer(), spec, budget);
  }
  if (value.is_number()) {
    if (!for_floats && spec.type != '\0') refuse();
    return format_float(*value.number(), spec, budget);
  }
  fail("unsupported format string passed to " + type + ".__format__");
}

/// One run of str.format().
class BraceFormatter {
 public:
  BraceFormatter(const Arguments& values, Interpreter& interpreter)
      : values_(values), interpreter_(interpreter) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) fail("Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      interpreter_.budget().step();
      const char c = format[at];
      const bool doubled = at + 1 < format.size() && format[at + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        out += c;
        at += 2;
      } else if (c == '}') {
        fail("Single '}' encountered in format string");
      } else if (c == '{') {
        const size_t end = field_end(format, at);
        out += field(format.substr(at + 1, end - at - 1), depth);
        at = end + 1;
      } else {
        out += c;
        ++at;
      }
      interpreter_.budget().grown(static_cast<int64_t>(out.size()));
    }
    interpreter_.budget().text(static_cast<int64_t>(out.size()));
    return out;
  }

 private:
  /// The place of the brace that closes the field opened at `at`; fields may nest in a specification.
  static size_t field_end(std::string_view format, size_t at) {
    int open = 0;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    fail("expected '}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    const size_t name_end = std::min(text.find_first_of("!:"), text.size());
    Value value = named(text.substr(0, name_end));
    text.remove_prefix(name_end);
    if (text.starts_with('!')) {
      if (text.size() < 2 || (text.size() > 2 && text[2] != ':'))
        fail("expected ':' after conversion specifier");
      if (text[1] != 's' && text[1] != 'r') {
        fail("Unknown conversion specifier '" + std::string(text.substr(1, 1)) + "'");
      }
      value =
          Value(text[1] == 's' ? to_text(value, interpreter_.budget()) : repr(value, interpreter_.budget()));
      text.remove_prefix(2);
    }
    const std::string spec = text.empty() ? "" : run(text.substr(1), depth + 1);
    return formatted(value, spec, interpreter_.budget());
  }

  /// The value of "name", "0", "" (the next one), with ".attribute" and "[key]" behind it.
  Value named(std::string_view text) {
    const size_t first_end = std::min(text.find_first_of(".["), text.size());
    Value value = first(text.substr(0, first_end));
    text.remove_prefix(first_end);
    while (!text.empty()) {
      const bool attribute = text[0] == '.';
      if (!attribute && text[0] != '[') fail("Only '.' or '[' may follow ']' in format field specifier");
      text.remove_prefix(1);
      const size_t end = attribute ? std::min(text.find_first_of(".["), text.size()) : text.find(']');
      if (end == std::string_view::npos) fail("Missing ']' in format string");
      const std::string key(text.substr(0, end));
      if (key.empty()) fail("Empty attribute in format string");
      text.remove_prefix(attribute ? end : end + 1);
      value = attribute ? interpreter_.attribute(value, key) : interpreter_.item(value, index_or_key(key));
    }
    return value;
  }

  static bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  static Value index_or_key(const std::string& key) {
    return is_number(key) ? Value(parse_int(key, 10).value_or(0)) : Value(key);
  }

  Value first(std::string_view name) {
    if (name.empty() || is_number(name)) {
      const bool automatic = name.empty();
      if (automatic ? numbered_ : next_ > 0) {
        fail("cannot switch between manual field specification and automatic field numbering");
      }
      numbered_ = !automatic;
      const Int index = automatic ? static_cast<Int>(next_++) : parse_int(name, 10).value_or(0);
      if (index < static_cast<Int>(values_.positional.size()))
        return values_.positional[static_cast<size_t>(index)];
      fail("Replacement index " + int_text(index) + " out of range for positional args tuple");
    }
    for (const auto& [known, value] : values_.named) {
      if (known == name) return value;
    }
    fail("'" + std::string(name) + "'");
  }

  const Arguments& values_;
  Interpreter& interpreter_;
  int64_t next_ = 0;
  bool numbered_ = false;
};

}  // namespace

std::string brace_format(const std::string& format, const Arguments& values, Interpreter& interpreter) {
  return BraceFormatter(values, interpreter).run(format, 1);
}

}  // namespace tercet::jinja
