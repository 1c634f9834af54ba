#include "text/jinja_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/jinja_budget.h"
#include "text/jinja_case_table.h"
#include "text/unicode.h"

namespace tercet::jinja {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_ascii(std::string_view text) {
  return ascii_length(text) == static_cast<int64_t>(text.size());
}

const SpecialCase* special_case(char32_t c) {
  const auto* at =
      std::lower_bound(std::begin(kSpecialCases), std::end(kSpecialCases), c,
                       [](const SpecialCase& entry, char32_t key) { return entry.character < key; });
  return at != std::end(kSpecialCases) && at->character == c ? at : nullptr;
}

void append_case(std::u32string& out, char32_t c, Case to) {
  const auto code = static_cast<utf8proc_int32_t>(c);
  if (to == Case::kLower) {
    out += static_cast<char32_t>(utf8proc_tolower(code));
    if (c == 0x130) out += char32_t{0x307};  // the one character whose lower case is two
    return;
  }
  if (const SpecialCase* special = special_case(c)) {
    for (const char32_t mapped : to == Case::kUpper ? special->upper : special->title) {
      if (mapped != 0) out += mapped;
    }
    return;
  }
  out += static_cast<char32_t>(to == Case::kUpper ? utf8proc_toupper(code) : utf8proc_totitle(code));
}

/// Characters that case rules look through: marks, modifiers, and punctuation inside words.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      break;
  }
  constexpr char32_t kInsideWords[] = {0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                       0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
  return std::find(std::begin(kInsideWords), std::end(kInsideWords), c) != std::end(kInsideWords);
}

/// A capital sigma at the end of a word becomes the final small one.
bool ends_word(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

void append_lower(std::u32string& out, std::u32string_view text, size_t at) {
  constexpr char32_t kCapitalSigma = 0x3a3;
  if (text[at] == kCapitalSigma) {
    out += ends_word(text, at) ? char32_t{0x3c2} : char32_t{0x3c3};
  } else {
    append_case(out, text[at], Case::kLower);
  }
}

template <class Drop>
std::string_view strip_if(std::string_view text, bool left, bool right, const Drop& drop) {
  while (left && !text.empty()) {
    const Utf8Step step = utf8_step(text, 0);
    if (!drop(static_cast<char32_t>(step.value))) break;
    text.remove_prefix(static_cast<size_t>(step.length));
  }
  while (right && !text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
    if (!drop(static_cast<char32_t>(utf8_step(text, static_cast<int64_t>(start)).value))) break;
    text = text.substr(0, start);
  }
  return text;
}

}  // namespace

size_t character_bytes(std::string_view text) {
  return static_cast<size_t>(utf8_step(text, 0).length);
}

int64_t code_point_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::u32string to_code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (int64_t at = 0; at < static_cast<int64_t>(text.size());) {
    const Utf8Step step = utf8_step(text, at);
    points += static_cast<char32_t>(step.value);
    at += step.length;
  }
  return points;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, static_cast<int32_t>(c));
  return out;
}

void append_character(std::string& out, char32_t character) {
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
    fail("'utf-8' codec can't encode character " + std::to_string(static_cast<uint32_t>(character)) +
         ": surrogates not allowed");
  }
  append_utf8(out, static_cast<int32_t>(character));
}

std::string_view slice_code_points(std::string_view text, int64_t first, int64_t last) {
  if (is_ascii(text)) return text.substr(static_cast<size_t>(first), static_cast<size_t>(last - first));
  size_t begin = 0;
  for (int64_t i = 0; i < first; ++i) begin += character_bytes(text.substr(begin));
  size_t end = begin;
  for (int64_t i = first; i < last; ++i) end += character_bytes(text.substr(end));
  return text.substr(begin, end - begin);
}

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_line_break(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  // Digits that do not form decimal numbers: superscripts, circled digits and the like.
  constexpr Range kOthers[] = {
      {0xb2, 0xb3},     {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},   {0x2070, 0x2070},
      {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247c},   {0x2488, 0x2490},
      {0x24ea, 0x24ea}, {0x24f5, 0x24fd},   {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},
      {0x278a, 0x2792}, {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a}};
  return is_decimal(c) || std::any_of(std::begin(kOthers), std::end(kOthers), [c](const Range& range) {
           return c >= range.first && c <= range.last;
         });
}

bool is_alphanumeric(char32_t c) {
  const auto kind = category(c);
  return is_letter(c) || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

bool is_lowercase(char32_t c) {
  // Other_Lowercase of Unicode: ordinal indicators, modifier letters, small roman numerals, circled letters.
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xaa || c == 0xba || (c >= 0x2b0 && c <= 0x2b8) ||
         (c >= 0x2c0 && c <= 0x2c1) || (c >= 0x2e0 && c <= 0x2e4) || (c >= 0x2170 && c <= 0x217f) ||
         (c >= 0x24d0 && c <= 0x24e9);
}

bool is_uppercase(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || (c >= 0x2160 && c <= 0x216f) || (c >= 0x24b6 && c <= 0x24cf);
}

bool is_cased(char32_t c) {
  return is_lowercase(c) || is_uppercase(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

std::string change_case(std::string_view text, Case to) {
  if (is_ascii(text) && to != Case::kTitle) {
    std::string out(text);
    for (char& c : out) {
      if (to == Case::kLower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
      if (to == Case::kUpper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    return out;
  }
  const std::u32string points = to_code_points(text);
  std::u32string out;
  for (size_t i = 0; i < points.size(); ++i) {
    if (to == Case::kLower) append_lower(out, points, i);
    if (to != Case::kLower) append_case(out, points[i], to);
  }
  return to_utf8(out);
}

std::string capitalized(std::string_view text) {
  const std::u32string points = to_code_points(text);
  std::u32string out;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == 0) append_case(out, points[i], Case::kTitle);
    if (i > 0) append_lower(out, points, i);
  }
  return to_utf8(out);
}

std::string title_words(std::string_view text) {
  const std::u32string points = to_code_points(text);
  std::u32string out;
  bool inside = false;
  for (size_t i = 0; i < points.size(); ++i) {
    if (inside) append_lower(out, points, i);
    if (!inside) append_case(out, points[i], Case::kTitle);
    inside = is_cased(points[i]);
  }
  return to_utf8(out);
}

std::string swapped_case(std::string_view text) {
  const std::u32string points = to_code_points(text);
  std::u32string out;
  for (size_t i = 0; i < points.size(); ++i) {
    if (is_uppercase(points[i])) {
      append_lower(out, points, i);
    } else if (is_lowercase(points[i])) {
      append_case(out, points[i], Case::kUpper);
    } else {
      out += points[i];
    }
  }
  return to_utf8(out);
}

std::string_view strip(std::string_view text, bool left, bool right) {
  return strip_if(text, left, right, is_space);
}

std::string_view strip(std::string_view text, bool left, bool right, std::string_view characters) {
  std::u32string dropped = to_code_points(characters);
  std::sort(dropped.begin(), dropped.end());
  return strip_if(text, left, right,
                  [&](char32_t c) { return std::binary_search(dropped.begin(), dropped.end(), c); });
}

}  // namespace tercet::jinja
