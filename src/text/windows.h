#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace tercet {

/// The documents of a text: what lies between the separators "\n\x1e\n", nothing else stripped.
std::vector<std::string_view> split_documents(std::string_view text);

/// A text as one row of tokens, cut into windows of equal length; a last partial window is dropped.
struct TokenWindows {
  std::vector<int32_t> tokens;  // of all documents, each followed by <|endoftext|>, in order
  int64_t length = 0;           // tokens of a window

  int64_t count() const { return static_cast<int64_t>(tokens.size()) / length; }
  std::span<const int32_t> window(int64_t i) const {
    return std::span(tokens).subspan(static_cast<size_t>(i * length), static_cast<size_t>(length));
  }
};

/// Encodes every document of `text`, added tokens' names as their ids, and cuts windows of `length` tokens.
/// Throws Error(kUsage) if they do not fill one window, Error(kCheckpoint) if the tokenizer has no
/// <|endoftext|>.
TokenWindows cut_windows(const Tokenizer& tokenizer, std::string_view text, int64_t length);

/// `wanted` of `count` windows, spread evenly: floor(i count / wanted); all where `wanted` is larger.
std::vector<int64_t> spread_windows(int64_t count, int64_t wanted);

/// `wanted` (at most `count`) different windows in the order drawn by `seed`, a shuffle's first part: more of
/// them only append.
std::vector<int64_t> draw_windows(int64_t count, int64_t wanted, uint64_t seed);

}  // namespace tercet
