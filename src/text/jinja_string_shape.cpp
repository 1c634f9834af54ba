#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_format.h"
#include "text/jinja_methods.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tercet::jinja {
namespace {

template <bool kLeft, bool kRight>
Value stripped(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("strip", arguments, {"chars"});
  if (!bound.is_set(0)) return Value(strip(self.as_string(), kLeft, kRight));
  return Value(strip(self.as_string(), kLeft, kRight, bound.text(0, {})));
}

template <Case kTo>
Value cased(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("upper or lower", arguments, {});
  return Value(change_case(self.as_string(), kTo));
}

template <std::string (*kChange)(std::string_view)>
Value changed(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("capitalize, title or swapcase", arguments, {});
  return Value(kChange(self.as_string()));
}

Value replace(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  return Value(replaced(self.as_string(), bound.text(0, {}), bound.text(1, {}), bound.integer(2, -1),
                        interpreter.budget()));
}

Value remove_prefix(Interpreter&, const Value& self, const Arguments& arguments) {
  const std::string prefix = Bound("removeprefix", arguments, {"prefix"}, 1).text(0, {});
  const std::string_view text = self.as_string();
  return Value(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

Value remove_suffix(Interpreter&, const Value& self, const Arguments& arguments) {
  const std::string suffix = Bound("removesuffix", arguments, {"suffix"}, 1).text(0, {});
  const std::string_view text = self.as_string();
  return Value(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

template <Side kSide>
Value justified(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("center, ljust or rjust", arguments, {"width", "fillchar"}, 1);
  const std::u32string fill = to_code_points(bound.text(1, " "));
  if (fill.size() != 1) fail("The fill character must be exactly one character long");
  return Value(padded(self.as_string(), bound.integer(0, 0), kSide, fill[0], interpreter.budget()));
}

Value zfill(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const std::string& text = self.as_string();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const std::string digits = padded(std::string_view(text).substr(sign ? 1 : 0),
                                    std::max<int64_t>(bound.integer(0, 0), 1) - (sign ? 1 : 0), Side::kLeft,
                                    '0', interpreter.budget());
  return Value(sign ? text[0] + digits : digits);
}

Value expand_tabs(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("expandtabs", arguments, {"tabsize"});
  const int64_t size = bound.integer(0, 8);
  int64_t column = 0;
  std::string out;
  for (const char32_t c : to_code_points(self.as_string())) {
    if (c == '\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      interpreter.budget().grown(spaces);
      interpreter.budget().grown(static_cast<int64_t>(out.size()) + spaces);
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      append_character(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  interpreter.budget().text(static_cast<int64_t>(out.size()));
  return Value(std::move(out));
}

Value format(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return Value(brace_format(self.as_string(), arguments, interpreter));
}

}  // namespace

const MethodTable& string_shape_methods() {
  static const MethodTable table = {{"strip", stripped<true, true>},
                                    {"lstrip", stripped<true, false>},
                                    {"rstrip", stripped<false, true>},
                                    {"upper", cased<Case::kUpper>},
                                    {"lower", cased<Case::kLower>},
                                    {"capitalize", changed<capitalized>},
                                    {"title", changed<title_words>},
                                    {"swapcase", changed<swapped_case>},
                                    {"replace", replace},
                                    {"removeprefix", remove_prefix},
                                    {"removesuffix", remove_suffix},
                                    {"ljust", justified<Side::kRight>},
                                    {"rjust", justified<Side::kLeft>},
                                    {"center", justified<Side::kBoth>},
                                    {"zfill", zfill},
                                    {"expandtabs", expand_tabs},
                                    {"format", format}};
  return table;
}

}  // namespace tercet::jinja
