#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_methods.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tercet::jinja {
namespace {

/// The part of a text between the positions that the arguments 1 and 2 of a search name.
struct Window {
  std::string_view text;
  int64_t start;
  bool valid;  // a start behind the end finds nothing, not even the empty text
};

Window window(const Value& self, const Bound& bound) {
  const int64_t count = code_point_count(self.as_string());
  const auto place = [count](int64_t at) { return at < 0 ? std::max<int64_t>(at + count, 0) : at; };
  const int64_t start = bound.is_set(1) ? place(bound.integer(1, 0)) : 0;
  const int64_t stop = std::min(bound.is_set(2) ? place(bound.integer(2, count)) : count, count);
  if (start > stop) return {{}, start, false};
  return {slice_code_points(self.as_string(), start, stop), start, true};
}

int64_t found_at(const Value& self, const Bound& bound, bool from_right) {
  const Window part = window(self, bound);
  const std::string needle = bound.text(0, {});
  if (!part.valid) return -1;
  const size_t at = from_right ? rfind_text(part.text, needle) : find_text(part.text, needle);
  return at == std::string_view::npos ? -1 : part.start + code_point_count(part.text.substr(0, at));
}

template <bool kFromRight>
Value find(Interpreter&, const Value& self, const Arguments& arguments) {
  return Value(found_at(self, Bound("find", arguments, {"sub", "start", "end"}, 1), kFromRight));
}

template <bool kFromRight>
Value index(Interpreter&, const Value& self, const Arguments& arguments) {
  const int64_t at = found_at(self, Bound("index", arguments, {"sub", "start", "end"}, 1), kFromRight);
  if (at < 0) fail("substring not found");
  return Value(at);
}

Value count(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  const Window part = window(self, bound);
  const std::string needle = bound.text(0, {});
  if (!part.valid) return Value(0);
  if (needle.empty()) return Value(code_point_count(part.text) + 1);
  int64_t total = 0;
  for (size_t at = find_text(part.text, needle); at != std::string_view::npos;
       at = find_text(part.text, needle, at + needle.size())) {
    ++total;
  }
  return Value(total);
}

template <bool kAtEnd>
Value has_affix(Interpreter&, const Value& self, const Arguments& arguments) {
  const char* name = kAtEnd ? "endswith" : "startswith";
  const Bound bound(name, arguments, {"affix", "start", "end"}, 1);
  const Window part = window(self, bound);
  const List affixes = bound[0].kind() == Value::Kind::kTuple ? bound[0].items() : List{bound[0]};
  for (const Value& affix : affixes) {
    if (!affix.is_string()) {
      fail(std::string(name) + " first arg must be str or a tuple of str, not " + affix.type_name());
    }
    const bool matches =
        kAtEnd ? part.text.ends_with(affix.as_string()) : part.text.starts_with(affix.as_string());
    if (part.valid && matches) return Value(true);
  }
  return Value(false);
}

/// True where there is text and every character is of the class.
template <bool (*kHolds)(char32_t)>
Value all_of(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("is...", arguments, {});
  const std::u32string points = to_code_points(self.as_string());
  return Value(!points.empty() && std::all_of(points.begin(), points.end(), kHolds));
}

bool is_ascii(char32_t c) {
  return c < 0x80;
}

/// The same where no text will do.
template <bool (*kHolds)(char32_t)>
Value none_outside(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("is...", arguments, {});
  const std::u32string points = to_code_points(self.as_string());
  return Value(std::all_of(points.begin(), points.end(), kHolds));
}

template <bool (*kWanted)(char32_t), bool (*kOther)(char32_t)>
Value in_case(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("is...", arguments, {});
  const std::u32string points = to_code_points(self.as_string());
  return Value(std::any_of(points.begin(), points.end(), kWanted) &&
               std::none_of(points.begin(), points.end(), kOther));
}

Value is_title(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("istitle", arguments, {});
  bool inside = false;
  bool any = false;
  for (const char32_t c : to_code_points(self.as_string())) {
    if (is_lowercase(c) ? !inside : is_cased(c) && inside) return Value(false);
    inside = is_cased(c);
    any = any || inside;
  }
  return Value(any);
}

}  // namespace

const MethodTable& string_search_methods() {
  static const MethodTable table = {{"startswith", has_affix<false>},
                                    {"endswith", has_affix<true>},
                                    {"find", find<false>},
                                    {"rfind", find<true>},
                                    {"index", index<false>},
                                    {"rindex", index<true>},
                                    {"count", count},
                                    {"isspace", all_of<is_space>},
                                    {"isalpha", all_of<is_letter>},
                                    {"isalnum", all_of<is_alphanumeric>},
                                    {"isdigit", all_of<is_digit>},
                                    {"isdecimal", all_of<is_decimal>},
                                    {"isascii", none_outside<is_ascii>},
                                    {"isprintable", none_outside<is_printable>},
                                    {"islower", in_case<is_lowercase, is_uppercase>},
                                    {"isupper", in_case<is_uppercase, is_lowercase>},
                                    {"istitle", is_title}};
  return table;
}

}  // namespace tercet::jinja
