#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_methods.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/unicode.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

Value made_list(const std::vector<std::string_view>& parts) {
  List items;
  for (const std::string_view part : parts) items.emplace_back(part);
  return Value::list(std::move(items));
}

/// Cuts off the first (or, from the right, the last) word; false at the end.
bool cut_word(std::string_view& rest, std::string_view& word, bool from_right) {
  rest = strip(rest, !from_right, from_right);
  if (rest.empty()) return false;
  if (from_right) {
    size_t begin = rest.size();
    while (begin > 0) {
      size_t previous = begin - 1;
      while (previous > 0 && (static_cast<unsigned char>(rest[previous]) & 0xc0) == 0x80) --previous;
      if (is_space(static_cast<char32_t>(utf8_step(rest, static_cast<int64_t>(previous)).value))) break;
      begin = previous;
    }
    word = rest.substr(begin);
    rest = rest.substr(0, begin);
    return true;
  }
  size_t end = 0;
  while (end < rest.size()) {
    const Utf8Step step = utf8_step(rest, static_cast<int64_t>(end));
    if (is_space(static_cast<char32_t>(step.value))) break;
    end += static_cast<size_t>(step.length);
  }
  word = rest.substr(0, end);
  rest.remove_prefix(end);
  return true;
}

std::vector<std::string_view> split_words(std::string_view text, int64_t limit, bool from_right,
                                          Budget& budget) {
  std::vector<std::string_view> parts;
  std::string_view word;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    if (!cut_word(text, word, from_right)) break;
    budget.step();
    parts.push_back(word);
  }
  text = strip(text, !from_right, from_right);
  if (!text.empty()) parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t limit,
                                       bool from_right, Budget& budget) {
  if (separator.empty()) fail("empty separator");
  std::vector<std::string_view> parts;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t at = from_right ? rfind_text(text, separator) : find_text(text, separator);
    if (at == std::string_view::npos) break;
    budget.step();
    parts.push_back(from_right ? text.substr(at + separator.size()) : text.substr(0, at));
    text = from_right ? text.substr(0, at) : text.substr(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

template <bool kFromRight>
Value split(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound(kFromRight ? "rsplit" : "split", arguments, {"sep", "maxsplit"});
  const int64_t limit = bound.integer(1, -1);
  std::vector<std::string_view> parts;
  std::string separator;  // the parts are views of `self`, not of this
  if (bound.is_set(0)) {
    separator = bound.text(0, {});
    parts = split_at(self.as_string(), separator, limit, kFromRight, interpreter.budget());
  } else {
    parts = split_words(self.as_string(), limit, kFromRight, interpreter.budget());
  }
  if (kFromRight) std::reverse(parts.begin(), parts.end());
  return made_list(parts);
}

Value splitlines(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  return made_list(split_lines(self.as_string(), bound.integer(0, 0) != 0, interpreter.budget()));
}

template <bool kFromRight>
Value partition(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("partition", arguments, {"sep"}, 1);
  const std::string separator = bound.text(0, {});
  if (separator.empty()) fail("empty separator");
  const std::string_view text = self.as_string();
  const size_t at = kFromRight ? rfind_text(text, separator) : find_text(text, separator);
  if (at == std::string_view::npos) {
    if (kFromRight) return Value::tuple({Value(""), Value(""), self});
    return Value::tuple({self, Value(""), Value("")});
  }
  return Value::tuple(
      {Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))});
}

Value join(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  const IteratorPointer items = try_iterate(bound[0]);
  if (!items) fail("can only join an iterable");
  std::string out;
  int64_t count = 0;
  for (Value item; items->next(item); ++count) {
    interpreter.budget().step();
    if (!item.is_string()) {
      fail("sequence item " + std::to_string(count) + ": expected str instance, " + item.type_name() +
           " found");
    }
    if (count > 0) out += self.as_string();
    out += item.as_string();
    interpreter.budget().grown(static_cast<int64_t>(out.size()));
  }
  interpreter.budget().text(static_cast<int64_t>(out.size()));
  return Value(std::move(out));
}

}  // namespace

const MethodTable& string_split_methods() {
  static const MethodTable table = {{"split", split<false>},         {"rsplit", split<true>},
                                    {"splitlines", splitlines},      {"partition", partition<false>},
                                    {"rpartition", partition<true>}, {"join", join}};
  return table;
}

}  // namespace tercet::jinja
