// Packed weights of the simd backend: what is packed comes out again, in as many bytes as the layout
// promises.
#include <gtest/gtest.h>

#include "backends/simd/weights.h"
#include "base/float_types.h"
#include "ops/host_matrix.h"

namespace tercet::simd {
namespace {

const Matrix& first_matrix(const Weight& weight) {
  return static_cast<const SimdWeight&>(*weight).matrices.front();
}

Weight pack(const CanonicalMatrix& matrix) {
  ThreadPool pool(2);
  return prepare_weight(pool, false, 1, [&](int64_t) { return matrix; });
}

void expect_round_trip(const CanonicalMatrix& matrix, Codes codes) {
  const Weight weight = pack(matrix);
  EXPECT_EQ(first_matrix(weight).panels.codes, codes);
  std::vector<float> expected(static_cast<size_t>(cols_of(matrix)));
  std::vector<float> found(expected.size());
  for (int64_t row = 0; row < rows_of(matrix); ++row) {
    row_to_floats(matrix, row, expected.data());
    unpack_row(first_matrix(weight), row, found.data());
    ASSERT_EQ(found, expected) << "row " << row;
  }
}

TEST(SimdWeights, DenseRoundTrip) {
  SplitMix64 random(1);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {16, 32}, {37, 77}}) {
    HostMatrix values = random_matrix(random, rows, cols);
    expect_round_trip(dense(values), Codes::kF32);
    for (float& value : values.values) value = bf16_to_float(float_to_bf16(value));
    expect_round_trip(dense(values), Codes::kBf16);
  }
}

TEST(SimdWeights, QuantizedRoundTrip) {
  SplitMix64 random(2);
  const std::pair<int, Codes> widths[] = {{2, Codes::kInt2}, {3, Codes::kInt3}, {4, Codes::kInt4},
                                          {5, Codes::kInt8}, {6, Codes::kInt8}, {7, Codes::kInt8},
                                          {8, Codes::kInt8}};
  for (const auto& [bits, codes] : widths) {
    for (const int64_t group : {32, 64, 128, 256, -1}) {
      for (const bool zeros : {false, true}) {
        for (const bool shuffled : {false, true}) {
          expect_round_trip(random_quantized(random, bits, 19, 300, group, zeros, shuffled && group > 0),
                            codes);
        }
      }
    }
  }
}

TEST(SimdWeights, ScalesAreKeptExactly) {
  SplitMix64 random(3);
  QuantizedMatrix matrix = random_quantized(random, 4, 20, 256, 128, false, false);
  EXPECT_EQ(first_matrix(pack(matrix)).panels.scale_type, ScaleType::kF16);
  for (float& scale : matrix.scales) scale = bf16_to_float(float_to_bf16(scale * 1e-7F));
  EXPECT_EQ(first_matrix(pack(matrix)).panels.scale_type, ScaleType::kBf16);
  expect_round_trip(matrix, Codes::kInt4);
  matrix.scales[5] = 0.1F;
  EXPECT_EQ(first_matrix(pack(matrix)).panels.scale_type, ScaleType::kF32);
  expect_round_trip(matrix, Codes::kInt4);
}

TEST(SimdWeights, GroupsThatTheCodePanelsCannotHoldAreDequantized) {
  SplitMix64 random(4);
  expect_round_trip(random_quantized(random, 4, 20, 240, 48, false, false), Codes::kF32);
  QuantizedMatrix matrix = random_quantized(random, 4, 20, 256, 128, false, true);
  for (int32_t& group : matrix.group_index) group = group == 0 && random.below(2) == 0 ? 1 : group;
  expect_round_trip(matrix, Codes::kF32);
}

TEST(SimdWeights, BytesAreWhatTheLayoutPromises) {
  SplitMix64 random(5);
  const auto bits_a_weight = [](const Weight& weight) {
    return 8.0 * static_cast<double>(weight->bytes) / static_cast<double>(weight->rows * weight->cols);
  };
  for (const int bits : {2, 3, 4, 8}) {
    EXPECT_EQ(bits_a_weight(pack(random_quantized(random, bits, 64, 1024, 128, false, false))), bits + 0.125);
  }
  EXPECT_EQ(bits_a_weight(pack(random_quantized(random, 4, 64, 1024, 128, true, false))), 4 + 0.125 + 0.0625);
}

TEST(SimdWeights, StacksMayMixLayouts) {
  SplitMix64 random(6);
  const std::vector<QuantizedMatrix> matrices = {random_quantized(random, 4, 20, 128, 128, false, false),
                                                 random_quantized(random, 8, 20, 128, 32, true, false),
                                                 random_quantized(random, 4, 20, 128, 128, false, true)};
  ThreadPool pool(2);
  const Weight weight = prepare_weight(
      pool, false, 3, [&](int64_t i) { return CanonicalMatrix(matrices[static_cast<size_t>(i)]); });
  for (size_t i = 0; i < 3; ++i) {
    std::vector<float> expected(128);
    std::vector<float> found(128);
    for (int64_t row = 0; row < 20; ++row) {
      matrices[i].row_to_floats(row, expected.data());
      unpack_row(static_cast<const SimdWeight&>(*weight).matrices[i], row, found.data());
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(SimdWeights, SyntheticOnesAreTheSameForAnyNumberOfThreads) {
  for (const int bits : {2, 3, 4, 8, 16}) {
    const SyntheticSpec spec{.count = 3, .rows = 40, .cols = 256, .bits = bits, .group_size = 128, .seed = 9};
    ThreadPool one(1);
    ThreadPool three(3);
    const Weight a = prepare_random_weight(one, false, spec);
    const Weight b = prepare_random_weight(three, false, spec);
    ASSERT_EQ(a->bytes, b->bytes);
    double squares = 0;
    std::vector<float> x(256);
    std::vector<float> y(256);
    for (size_t i = 0; i < 3; ++i) {
      for (int64_t row = 0; row < 40; ++row) {
        unpack_row(static_cast<const SimdWeight&>(*a).matrices[i], row, x.data());
        unpack_row(static_cast<const SimdWeight&>(*b).matrices[i], row, y.data());
        ASSERT_EQ(x, y);
        for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
      }
    }
    EXPECT_NEAR(squares / (3 * 40), 1.0, 0.3) << bits;  // unit inputs give outputs of about unit size
  }
}

}  // namespace
}  // namespace tercet::simd
