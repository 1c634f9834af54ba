#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tercet {

// The integers of the GPTQ container at 2, 3, 4 and 8 bits. A sequence of codes is a little-endian bit
// stream: code i takes bits [b i, b i + b) of the words laid end to end, so 32 codes take b words, and at 3
// bits some codes straddle two words:
//
//   4 bits  |31  28|27  24|      ...      |7    4|3    0|      8 codes a word (2 bits: 16, 8 bits: 4)
//           |  c7  |  c6  |               |  c1  |  c0  |
//
//   3 bits  word 0  |31 30|29 27|26 24|     ...     |5   3|2   0|
//                   |c10lo|  c9 |  c8 |             |  c1 |  c0 |
//           word 1  | 31  |30 28|     ...     |6   4|3   1|  0  |
//                   |c21lo| c20 |             | c12 | c11 |c10hi|
//           word 2  |31 29|     ...     |7   5|4   2|1   0|
//                   | c31 |             | c23 | c22 |c21hi|
//
// qweight I32 [ceil(K b / 32), N]: column n is the stream of the K codes of output n.
// qzeros  I32 [groups, ceil(N b / 32)]: row g is the stream of the N zero fields of group g.
// Bits behind the last code of a stream are 0. True size: b bits a weight, and (16 + b) / group bits for
// scale and zero.

/// Whether the container knows the width.
constexpr bool is_gptq_bits(int bits) {
  return bits == 2 || bits == 3 || bits == 4 || bits == 8;
}

/// Words of a stream of `count` codes.
constexpr int64_t packed_words(int64_t count, int bits) {
  return (count * bits + 31) / 32;
}

/// Adds code `index` to a stream whose bits there are 0. `code` is below 2^bits.
constexpr void put_code(std::span<uint32_t> words, int64_t index, int bits, uint32_t code) {
  const int64_t bit = index * bits;
  const size_t word = static_cast<size_t>(bit / 32);
  const int shift = static_cast<int>(bit % 32);
  words[word] |= code << shift;
  if (shift + bits > 32) words[word + 1] |= code >> (32 - shift);
}

/// Code `index` of a stream.
constexpr uint8_t get_code(std::span<const uint32_t> words, int64_t index, int bits) {
  const int64_t bit = index * bits;
  const size_t word = static_cast<size_t>(bit / 32);
  const int shift = static_cast<int>(bit % 32);
  uint32_t code = words[word] >> shift;
  if (shift + bits > 32) code |= words[word + 1] << (32 - shift);
  return static_cast<uint8_t>(code & ((1U << bits) - 1U));
}

/// The zero field of a true zero: the zero itself, or in version 1 the zero minus one, both modulo 2^bits.
constexpr uint8_t gptq_zero_field(int zero, int bits, bool v1) {
  return static_cast<uint8_t>(static_cast<unsigned>(zero - (v1 ? 1 : 0)) & ((1U << bits) - 1U));
}

/// The true zero of a zero field.
constexpr uint8_t gptq_true_zero(int field, int bits, bool v1) {
  return static_cast<uint8_t>(static_cast<unsigned>(field + (v1 ? 1 : 0)) & ((1U << bits) - 1U));
}

/// Codes [rows, cols] (outputs, inputs) to qweight [packed_words(cols), rows].
std::vector<uint32_t> pack_gptq_weights(std::span<const uint8_t> codes, int64_t rows, int64_t cols, int bits);

/// qweight, at any alignment, to codes [rows, cols].
void unpack_gptq_weights(std::span<const std::byte> qweight, int64_t rows, int64_t cols, int bits,
                         std::span<uint8_t> codes);

/// Zero fields [rows, groups] to qzeros [groups, packed_words(rows)].
std::vector<uint32_t> pack_gptq_zeros(std::span<const uint8_t> fields, int64_t rows, int64_t groups,
                                      int bits);

/// qzeros, at any alignment, to zero fields [rows, groups].
void unpack_gptq_zeros(std::span<const std::byte> qzeros, int64_t rows, int64_t groups, int bits,
                       std::span<uint8_t> fields);

namespace internal {

template <size_t kWords, size_t kCodes>
constexpr bool packs_to(const std::array<uint32_t, kWords>& words, const std::array<uint8_t, kCodes>& codes,
                        int bits) {
  std::array<uint32_t, kWords> packed{};
  for (size_t i = 0; i < kCodes; ++i) put_code(packed, static_cast<int64_t>(i), bits, codes[i]);
  return packed == words && packed_words(kCodes, bits) == static_cast<int64_t>(kWords);
}

}  // namespace internal

static_assert(internal::packs_to<1, 8>({0x76543210}, {0, 1, 2, 3, 4, 5, 6, 7}, 4));
static_assert(internal::packs_to<2, 11>({0x40000007, 0x1}, {7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}, 3));
static_assert(packed_words(32, 2) == 2 && packed_words(32, 3) == 3 && packed_words(32, 8) == 8);
static_assert(gptq_zero_field(0, 4, true) == 15 && gptq_true_zero(15, 4, true) == 0);

}  // namespace tercet
