#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tercet {

/// Byte-level byte pair encoding: every byte is a token, and pairs of tokens merge in the order of their
/// rank, the leftmost first. Immutable once built, so that any number of threads may encode.
class Bpe {
 public:
  /// `byte_ids`: the token of every byte. `merges`: how many add_merge calls will follow.
  Bpe(const std::array<int32_t, 256>& byte_ids, int64_t merges);

  /// The next merge, of the next rank. False, and nothing is added, where the pair has one already.
  bool add_merge(int32_t left, int32_t right, int32_t result);

  /// Appends the tokens of `word`, at most 2^32 - 1 bytes, in O(n log n).
  void encode(std::string_view word, std::vector<int32_t>& out) const;

 private:
  static constexpr uint32_t kNoRank = UINT32_MAX;

  struct Merge {
    uint64_t pair = 0;
    uint32_t rank = kNoRank;
    int32_t result = 0;
  };

  static uint64_t pair_of(int32_t left, int32_t right);
  uint64_t slot_of(uint64_t pair) const;
  const Merge& find(int32_t left, int32_t right) const;
  void encode_short(std::string_view word, std::vector<int32_t>& out) const;
  void encode_long(std::string_view word, std::vector<int32_t>& out) const;

  std::array<int32_t, 256> byte_ids_;
  std::vector<Merge>
      table_;  // open addressing, a power of two at least twice the merges; rank kNoRank is empty
  int shift_;  // 64 - log2(table_.size())
  uint32_t merges_ = 0;
};

}  // namespace tercet
