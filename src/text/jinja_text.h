#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/value.h"

namespace tercet::jinja {

/// The algorithms of Python's str that filters and methods share.

/// str.replace(): every place, or the first `count`.
std::string replaced(std::string_view text, std::string_view old, std::string_view with, int64_t count,
                     Budget& budget);

/// str.splitlines().
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends, Budget& budget);

/// The first place of `needle` from byte `from` on, and the last place, or npos; linear time for any needle.
size_t find_text(std::string_view text, std::string_view needle, size_t from = 0);
size_t rfind_text(std::string_view text, std::string_view needle);

enum class Side { kLeft, kRight, kBoth };
/// str.rjust() (fills the left), str.ljust(), str.center().
std::string padded(std::string_view text, int64_t width, Side side, char32_t fill, Budget& budget);

}  // namespace tercet::jinja
