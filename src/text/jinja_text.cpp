#include "text/jinja_text.h"

#include <cstring>

#include "text/jinja_unicode.h"
#include "text/unicode.h"

namespace tercet::jinja {
namespace {

/// An empty `old` stands before every character and at the end.
std::string interspersed(std::string_view text, std::string_view with, int64_t count, Budget& budget) {
  std::string out;
  while (!text.empty() || count > 0) {
    if (count > 0) {
      out += with;
      --count;
    }
    if (text.empty()) break;
    const size_t bytes = character_bytes(text);
    out += text.substr(0, bytes);
    text.remove_prefix(bytes);
    budget.grown(static_cast<int64_t>(out.size()));
  }
  return out;
}

}  // namespace

std::string replaced(std::string_view text, std::string_view old, std::string_view with, int64_t count,
                     Budget& budget) {
  if (count < 0) count = INT64_MAX;
  if (old.empty()) return interspersed(text, with, count, budget);
  std::string out;
  size_t at = 0;
  for (; count > 0; --count) {
    const size_t found = find_text(text, old, at);
    if (found == std::string_view::npos) break;
    out += text.substr(at, found - at);
    out += with;
    at = found + old.size();
    budget.grown(static_cast<int64_t>(out.size()));
  }
  out += text.substr(at);
  budget.text(static_cast<int64_t>(out.size()));
  return out;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends, Budget& budget) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, static_cast<int64_t>(at));
    size_t end = at + static_cast<size_t>(step.length);
    if (!is_line_break(static_cast<char32_t>(step.value))) {
      at = end;
      continue;
    }
    budget.step();
    if (text[at] == '\r' && end < text.size() && text[end] == '\n') ++end;
    lines.push_back(text.substr(begin, (keep_ends ? end : at) - begin));
    begin = at = end;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

size_t find_text(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* at = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<size_t>(static_cast<const char*>(at) - text.data());
}

size_t rfind_text(std::string_view text, std::string_view needle) {
  constexpr size_t kShort = 32;  // below, comparing at every place costs little
  if (needle.size() <= kShort) return text.rfind(needle);
  const std::string mirrored(text.rbegin(), text.rend());
  const size_t at = find_text(mirrored, std::string(needle.rbegin(), needle.rend()));
  return at == std::string_view::npos ? at : text.size() - at - needle.size();
}

std::string padded(std::string_view text, int64_t width, Side side, char32_t fill, Budget& budget) {
  const int64_t count = code_point_count(text);
  if (width <= count) return std::string(text);
  const int64_t missing = width - count;
  budget.grown(missing);
  budget.text(static_cast<int64_t>(text.size()) + 4 * missing);
  // CPython's center() puts the odd one left where the width is odd.
  const int64_t left = side == Side::kLeft    ? missing
                       : side == Side::kRight ? 0
                                              : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) append_character(out, fill);
  out += text;
  for (int64_t i = left; i < missing; ++i) append_character(out, fill);
  return out;
}

}  // namespace tercet::jinja
