#include "format/gptq.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace tercet {
namespace {

constexpr int64_t kBlock = 32;  // codes; they take `bits` whole words

/// Unpacks streams that lie side by side: word w of stream s is at words[w * streams + s]. `codes` is
/// [streams, count]. A template, so that every shift is a constant.
template <int kBits>
void unpack_columns(const std::byte* words, int64_t streams, int64_t count, uint8_t* codes) {
  const int64_t total = packed_words(count, kBits);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t first_word = first / kBlock * kBits;
    const int64_t present = std::min<int64_t>(kBits, total - first_word);
    const auto wanted = static_cast<size_t>(std::min(kBlock, count - first));
    for (int64_t s = 0; s < streams; ++s) {
      std::array<uint32_t, kBits> block{};
      for (int64_t w = 0; w < present; ++w) {
        std::memcpy(&block[static_cast<size_t>(w)], words + ((first_word + w) * streams + s) * 4, 4);
      }
      std::array<uint8_t, kBlock> out;
      for (int64_t i = 0; i < kBlock; ++i) out[static_cast<size_t>(i)] = get_code(block, i, kBits);
      std::memcpy(codes + s * count + first, out.data(), wanted);
    }
  }
}

}  // namespace

std::vector<uint32_t> pack_gptq_weights(std::span<const uint8_t> codes, int64_t rows, int64_t cols,
                                        int bits) {
  TERCET_CHECK(is_gptq_bits(bits));
  TERCET_CHECK_EQ(static_cast<int64_t>(codes.size()), rows * cols);
  const int64_t words = packed_words(cols, bits);
  std::vector<uint32_t> packed(static_cast<size_t>(words * rows));
  std::vector<uint32_t> stream(static_cast<size_t>(words));
  for (int64_t n = 0; n < rows; ++n) {
    std::fill(stream.begin(), stream.end(), 0U);
    for (int64_t k = 0; k < cols; ++k) put_code(stream, k, bits, codes[static_cast<size_t>(n * cols + k)]);
    for (int64_t w = 0; w < words; ++w)
      packed[static_cast<size_t>(w * rows + n)] = stream[static_cast<size_t>(w)];
  }
  return packed;
}

void unpack_gptq_weights(std::span<const std::byte> qweight, int64_t rows, int64_t cols, int bits,
                         std::span<uint8_t> codes) {
  TERCET_CHECK_EQ(static_cast<int64_t>(qweight.size()), packed_words(cols, bits) * rows * 4);
  TERCET_CHECK_EQ(static_cast<int64_t>(codes.size()), rows * cols);
  switch (bits) {
    case 2:
      return unpack_columns<2>(qweight.data(), rows, cols, codes.data());
    case 3:
      return unpack_columns<3>(qweight.data(), rows, cols, codes.data());
    case 4:
      return unpack_columns<4>(qweight.data(), rows, cols, codes.data());
    case 8:
      return unpack_columns<8>(qweight.data(), rows, cols, codes.data());
    default:
      TERCET_CHECK(is_gptq_bits(bits));
  }
}

std::vector<uint32_t> pack_gptq_zeros(std::span<const uint8_t> fields, int64_t rows, int64_t groups,
                                      int bits) {
  TERCET_CHECK(is_gptq_bits(bits));
  TERCET_CHECK_EQ(static_cast<int64_t>(fields.size()), rows * groups);
  const int64_t words = packed_words(rows, bits);
  std::vector<uint32_t> packed(static_cast<size_t>(groups * words));
  for (int64_t g = 0; g < groups; ++g) {
    const std::span<uint32_t> stream(packed.data() + g * words, static_cast<size_t>(words));
    for (int64_t n = 0; n < rows; ++n) put_code(stream, n, bits, fields[static_cast<size_t>(n * groups + g)]);
  }
  return packed;
}

void unpack_gptq_zeros(std::span<const std::byte> qzeros, int64_t rows, int64_t groups, int bits,
                       std::span<uint8_t> fields) {
  const int64_t words = packed_words(rows, bits);
  TERCET_CHECK(is_gptq_bits(bits));
  TERCET_CHECK_EQ(static_cast<int64_t>(qzeros.size()), groups * words * 4);
  TERCET_CHECK_EQ(static_cast<int64_t>(fields.size()), rows * groups);
  std::vector<uint32_t> stream(static_cast<size_t>(words));
  for (int64_t g = 0; g < groups; ++g) {
    std::memcpy(stream.data(), qzeros.data() + g * words * 4, static_cast<size_t>(words) * 4);
    for (int64_t n = 0; n < rows; ++n)
      fields[static_cast<size_t>(n * groups + g)] = get_code(stream, n, bits);
  }
}

}  // namespace tercet
