#include "format/gptq.h"

#include <gtest/gtest.h>

#include <random>

namespace tercet {
namespace {

std::span<const std::byte> bytes_of(const std::vector<uint32_t>& words) {
  return std::as_bytes(std::span(words));
}

/// Codes of one output, given by a rule, as the words of its column.
template <class Rule>
std::vector<uint32_t> packed(int64_t count, int bits, Rule rule) {
  std::vector<uint8_t> codes;
  for (int64_t i = 0; i < count; ++i) codes.push_back(static_cast<uint8_t>(rule(i)));
  return pack_gptq_weights(codes, 1, count, bits);
}

using Words = std::vector<uint32_t>;

TEST(Gptq, GoldenVectors) {
  EXPECT_EQ(packed(8, 4, [](int64_t i) { return i; }), Words({0x76543210}));
  EXPECT_EQ(packed(32, 3, [](int64_t i) { return i % 8; }), Words({0x88fac688, 0xc688fac6, 0xfac688fa}));
  EXPECT_EQ(packed(32, 3, [](int64_t i) { return (5 * i + 3) % 8; }),
            Words({0x43c67543, 0x7543c675, 0xc67543c6}));
  EXPECT_EQ(packed(32, 3, [](int64_t) { return 4; }), Words({0x24924924, 0x49249249, 0x92492492}));
  EXPECT_EQ(packed(32, 3, [](int64_t) { return 3; }), Words({0xdb6db6db, 0xb6db6db6, 0x6db6db6d}));
}

TEST(Gptq, GoldenSymmetricZeros) {
  const std::vector<uint8_t> v1(8, gptq_zero_field(8, 4, true)), v2(8, gptq_zero_field(8, 4, false));
  EXPECT_EQ(pack_gptq_zeros(v1, 8, 1, 4), Words({0x77777777}));
  EXPECT_EQ(pack_gptq_zeros(v2, 8, 1, 4), Words({0x88888888}));
  EXPECT_EQ(gptq_zero_field(4, 3, true), 3);
}

TEST(Gptq, EveryZeroSurvivesBothVersions) {
  for (const int bits : {2, 3, 4, 8}) {
    for (int zero = 0; zero < 1 << bits; ++zero) {
      for (const bool v1 : {false, true}) {
        const int field = gptq_zero_field(zero, bits, v1);
        EXPECT_EQ(field, (zero - (v1 ? 1 : 0) + (1 << bits)) % (1 << bits));
        EXPECT_EQ(gptq_true_zero(field, bits, v1), zero);
      }
    }
  }
}

// Every code at every place of a block of 32, with all other codes zero and with all other codes full.
TEST(Gptq, EveryCodeAtEveryPlace) {
  for (const int bits : {2, 3, 4, 8}) {
    const int full = (1 << bits) - 1;
    for (const int background : {0, full}) {
      for (int64_t place = 0; place < 32; ++place) {
        for (int code = 0; code <= full; ++code) {
          std::vector<uint8_t> codes(32, static_cast<uint8_t>(background)), back(32);
          codes[static_cast<size_t>(place)] = static_cast<uint8_t>(code);
          const Words words = pack_gptq_weights(codes, 1, 32, bits);
          ASSERT_EQ(static_cast<int>(words.size()), bits);
          unpack_gptq_weights(bytes_of(words), 1, 32, bits, back);
          ASSERT_EQ(back, codes);
          // The code's bits are where the bit ruler says, counted one by one.
          for (int b = 0; b < bits; ++b) {
            const int64_t bit = place * bits + b;
            ASSERT_EQ((words[static_cast<size_t>(bit / 32)] >> (bit % 32)) & 1U,
                      static_cast<uint32_t>(code >> b) & 1U);
          }
        }
      }
    }
  }
}

TEST(Gptq, RandomMatricesRoundTrip) {
  std::mt19937 random(7);
  for (const int bits : {2, 3, 4, 8}) {
    for (const int64_t rows : {1, 3, 8, 33}) {
      for (const int64_t cols : {1, 7, 31, 32, 33, 100, 128}) {
        std::vector<uint8_t> codes(static_cast<size_t>(rows * cols)), back(codes.size());
        for (uint8_t& code : codes) code = static_cast<uint8_t>(random() >> (32 - bits));
        const Words words = pack_gptq_weights(codes, rows, cols, bits);
        ASSERT_EQ(static_cast<int64_t>(words.size()), packed_words(cols, bits) * rows);
        unpack_gptq_weights(bytes_of(words), rows, cols, bits, back);
        ASSERT_EQ(back, codes) << bits << " bits " << rows << " x " << cols;
        const Words zeros = pack_gptq_zeros(codes, rows, cols, bits);
        ASSERT_EQ(static_cast<int64_t>(zeros.size()), packed_words(rows, bits) * cols);
        std::fill(back.begin(), back.end(), uint8_t{0});
        unpack_gptq_zeros(bytes_of(zeros), rows, cols, bits, back);
        ASSERT_EQ(back, codes) << bits << " bits " << rows << " x " << cols;
      }
    }
  }
}

TEST(Gptq, WordsLieWordRowByWordRow) {
  // Two outputs of 16 inputs at 4 bits: word w of output n is at [w][n].
  std::vector<uint8_t> codes(32);
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(i < 16 ? 1 + i / 8 : 3 + (i - 16) / 8);
  EXPECT_EQ(pack_gptq_weights(codes, 2, 16, 4), Words({0x11111111, 0x33333333, 0x22222222, 0x44444444}));
  // Zeros of 2 groups of 9 outputs: two words a group, the second with one field.
  std::vector<uint8_t> fields;
  for (int n = 0; n < 9; ++n) {
    fields.push_back(5);
    fields.push_back(6);
  }
  EXPECT_EQ(pack_gptq_zeros(fields, 9, 2, 4), Words({0x55555555, 0x5, 0x66666666, 0x6}));
}

TEST(Gptq, UnalignedWordsAreRead) {
  std::vector<uint8_t> codes(64 * 3), back(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 5 % 8);
  const Words words = pack_gptq_weights(codes, 3, 64, 3);
  std::vector<std::byte> shifted(words.size() * 4 + 1);
  std::copy(bytes_of(words).begin(), bytes_of(words).end(), shifted.begin() + 1);
  unpack_gptq_weights(std::span<const std::byte>(shifted).subspan(1), 3, 64, 3, back);
  EXPECT_EQ(back, codes);
}

}  // namespace
}  // namespace tercet
