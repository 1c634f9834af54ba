#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "text/unicode.h"

namespace tercet {

// The random strings of tools/check_tokenizer.py, which says what the `tokenizers` library makes of them.

inline constexpr std::pair<int32_t, int32_t> kRandomRanges[] = {  // first, size
    {0x0, 0x80},     {0x41, 26},         {0x61, 26},     {0x30, 10},       {0x80, 0x1d0},
    {0x300, 0x70},   {0x370, 0x3d0},     {0x900, 0x480}, {0x1100, 0x100},  {0xac00, 0x2ba4},
    {0x1e00, 0x200}, {0x2000, 0x70},     {0x3040, 0xc0}, {0x4e00, 0x5200}, {0x1f300, 0x700},
    {0x0, 0x10000},  {0x10000, 0x10000}, {0x0, 0x110000}};

inline constexpr std::string_view kRandomSnippets[] = {"'s",
                                                       "'LL",
                                                       "'\u017f",
                                                       " ",
                                                       "  ",
                                                       "\n",
                                                       "\r\n",
                                                       "\t",
                                                       "\u00a0",
                                                       "\u3000",
                                                       "\u2028",
                                                       "\u180e",
                                                       "\u0085",
                                                       "\u0660\u0669",
                                                       "\u00bd\u00b2",
                                                       "\u0966",
                                                       "e\u0301",
                                                       "\u0915\u094d\u0937\u093f",
                                                       "\u30ab\u3099",
                                                       "\U0001f468\u200d\U0001f469\u200d\U0001f467",
                                                       "\U0001f1e9\U0001f1ea",
                                                       "q\u0307\u0323",
                                                       "\u1112\u1161\u11ab",
                                                       "\ufdfa",
                                                       "\u212b",
                                                       "\U0001d15e",
                                                       "<|im_end|>",
                                                       "<|im_end",
                                                       "<think>",
                                                       "</think>",
                                                       "</"};

/// Bytes of all kinds: every plane, surrogates and stray bytes, marks, digits, white space, added tokens.
inline std::string random_string(SplitMix64& random) {
  constexpr uint64_t kRanges = std::size(kRandomRanges);
  std::string out;
  for (uint64_t left = 1 + random.below(24); left > 0; --left) {
    const uint64_t kind = random.below(kRanges + 8);
    if (kind < kRanges) {
      const auto [first, size] = kRandomRanges[kind];
      append_utf8(out, first + static_cast<int32_t>(random.below(size)));
    } else if (kind == kRanges) {
      out.push_back(static_cast<char>(0x80 + random.below(0x80)));
    } else {
      out += kRandomSnippets[random.below(std::size(kRandomSnippets))];
    }
  }
  return out;
}

/// The same for ids; a few lie beyond the vocabulary.
inline std::vector<int32_t> random_ids(SplitMix64& random, int64_t vocab_size) {
  std::vector<int32_t> ids(1 + random.below(12));
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(vocab_size + 8));
  return ids;
}

/// Hash of a list of numbers, its length included, on top of an earlier state.
template <class Numbers>
uint64_t hash_numbers(uint64_t state, const Numbers& numbers) {
  uint64_t count = 0;
  for (const auto number : numbers) {
    state = mix64(state ^ static_cast<uint64_t>(number));
    ++count;
  }
  return mix64(state ^ (uint64_t{1} << 32 | count));
}

/// A range of unicode_differences.txt: code points that newer tables know as `kind`.
struct UnicodeDifference {
  std::string kind;
  int32_t first, last;
};

inline std::vector<UnicodeDifference> read_unicode_differences() {
  std::ifstream file(TERCET_SOURCE_DIR "/tests/text/unicode_differences.txt");
  if (!file) throw std::runtime_error("cannot read unicode_differences.txt");
  std::vector<UnicodeDifference> ranges;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    UnicodeDifference range;
    std::istringstream(line) >> range.kind >> std::hex >> range.first >> range.last;
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace tercet
