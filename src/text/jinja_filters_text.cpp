#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_filters.h"
#include "text/jinja_format.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/value_json.h"
#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

std::string text_of(Interpreter& interpreter, const Value& value) {
  return to_text(value, interpreter.budget());
}

Value upper(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("upper", arguments, {});
  return Value(change_case(text_of(interpreter, input), Case::kUpper));
}

Value lower(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("lower", arguments, {});
  return Value(change_case(text_of(interpreter, input), Case::kLower));
}

Value capitalize(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("capitalize", arguments, {});
  return Value(capitalized(text_of(interpreter, input)));
}

/// Words begin after white space, dashes and opening brackets here, unlike in str.title().
Value title(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("title", arguments, {});
  const auto separates = [](char32_t c) {
    return is_space(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
  };
  const std::u32string points = to_code_points(text_of(interpreter, input));
  std::string out;
  for (size_t i = 0; i < points.size();) {
    const size_t begin = i;
    const bool separator = separates(points[i]);
    while (i < points.size() && separates(points[i]) == separator) ++i;
    const std::u32string_view run = std::u32string_view(points).substr(begin, i - begin);
    out += change_case(to_utf8(run.substr(0, 1)), Case::kUpper) +
           change_case(to_utf8(run.substr(1)), Case::kLower);
  }
  return Value(std::move(out));
}

Value trim(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  const std::string text = text_of(interpreter, input);
  return Value(bound.is_set(0) ? strip(text, true, true, bound.text(0, {})) : strip(text, true, true));
}

Value replace(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const int64_t count = bound.is_set(2) ? bound.integer(2, -1) : -1;
  return Value(replaced(text_of(interpreter, input), text_of(interpreter, bound[0]),
                        text_of(interpreter, bound[1]), count, interpreter.budget()));
}

Value join(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const AttributePath path(bound[1]);
  const std::string separator = bound.has(0) ? text_of(interpreter, bound[0]) : "";
  std::string out;
  bool first = true;
  const IteratorPointer items = iterate(input);
  for (Value item; items->next(item);) {
    if (!first) out += separator;
    first = false;
    out += text_of(interpreter, path.get(interpreter, item));
    interpreter.budget().grown(static_cast<int64_t>(out.size()));
  }
  interpreter.budget().text(static_cast<int64_t>(out.size()));
  return Value(std::move(out));
}

Value string(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return Value(text_of(interpreter, input));
}

Value indent(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  const Value text = arithmetic(Operator::kAdd, input, Value("\n"), budget);  // fails for what is not text
  const bool given = bound.has(0) && bound[0].is_string();
  const std::string indention =
      given ? bound[0].as_string()
            : to_text(arithmetic(Operator::kMultiply, Value(" "), bound.value(0, Value(4)), budget), budget);
  const bool blank = bound.truth(2, false);
  std::string out = bound.truth(1, false) ? indention : "";
  bool first = true;
  for (const std::string_view line : split_lines(text.as_string(), false, budget)) {
    if (!first) out += '\n';
    if (!first && (blank || !line.empty())) out += indention;
    first = false;
    out += line;
    budget.grown(static_cast<int64_t>(out.size()));
  }
  return Value(std::move(out));
}

Value escape(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("escape", arguments, {});
  std::string out;
  for (const char c : text_of(interpreter, input)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  interpreter.budget().text(static_cast<int64_t>(out.size()));
  return Value(std::move(out));
}

Value center(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  return Value(
      padded(text_of(interpreter, input), bound.integer(0, 80), Side::kBoth, ' ', interpreter.budget()));
}

Value format(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail("can't handle positional and keyword arguments at the same time");
  }
  Value values = Value::tuple(arguments.positional);
  if (!arguments.named.empty()) {
    Dict named;
    for (const auto& [name, value] : arguments.named) named.set(name, value);
    values = Value::dict(std::move(named));
  }
  return Value(percent_format(text_of(interpreter, input), values, interpreter.budget()));
}

Value wordcount(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  int64_t count = 0;
  bool inside = false;
  for (const char32_t c : to_code_points(text_of(interpreter, input))) {
    const bool word = c == '_' || is_alphanumeric(c);
    if (word && !inside) ++count;
    inside = word;
  }
  return Value(count);
}

Value truncate(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::string end = bound.text(2, "...");
  const int64_t length = bound.integer(0, 255);
  const int64_t leeway = bound.is_set(3) ? bound.integer(3, 5) : 5;
  const int64_t end_length = code_point_count(end);
  if (length < end_length) {
    fail("expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length));
  }
  if (leeway < 0) fail("expected leeway >= 0, got " + std::to_string(leeway));
  const auto count = try_length(input, interpreter.budget());
  if (!count) fail("object of type '" + input.type_name() + "' has no len()");
  if (*count <= length || *count - length <= leeway) return input;
  if (!input.is_string()) fail("truncate: a long value must be str, not " + input.type_name());
  std::string_view kept = slice_code_points(input.as_string(), 0, length - end_length);
  if (!bound.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return Value(std::string(kept) + end);
}

std::optional<std::string> indentation(const Bound& bound, size_t i, Budget& budget) {
  if (!bound.is_set(i)) return std::nullopt;
  if (bound[i].is_string()) return bound[i].as_string();
  return to_text(arithmetic(Operator::kMultiply, Value(" "), Value(bound.integer(i, 0)), budget), budget);
}

/// As transformers replaces it: json.dumps without escaping for HTML.
Value tojson(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.truth(0, false);
  style.indent = indentation(bound, 1, interpreter.budget());
  if (style.indent) style.item_separator.pop_back();  // lines end in a comma without a space
  if (bound.is_set(2)) {
    const List separators = to_list(bound[2], interpreter.budget());
    if (separators.size() != 2 || !separators[0].is_string() || !separators[1].is_string()) {
      fail("separators must be two strings");
    }
    style.item_separator = separators[0].as_string();
    style.key_separator = separators[1].as_string();
  }
  style.sort_keys = bound.truth(3, false);
  return Value(dump_json(input, style, interpreter.budget()));
}

}  // namespace

const FilterTable& text_filters() {
  static const FilterTable table = {
      {"tojson", tojson},      {"trim", trim},           {"join", join},
      {"upper", upper},        {"lower", lower},         {"capitalize", capitalize},
      {"title", title},        {"replace", replace},     {"string", string},
      {"indent", indent},      {"escape", escape},       {"e", escape},
      {"forceescape", escape}, {"safe", string},         {"center", center},
      {"format", format},      {"wordcount", wordcount}, {"truncate", truncate}};
  return table;
}

}  // namespace tercet::jinja
