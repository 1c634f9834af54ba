#pragma once

#include <cstdint>

namespace tercet {

/// A row-major block of floats that is not owned: row r starts at data + r * stride.
struct FloatBlock {
  float* data = nullptr;
  int64_t stride = 0;

  float* row(int64_t r) const { return data + r * stride; }
  FloatBlock from(int64_t col) const { return {data + col, stride}; }
};

/// out[r][j] += sum_i a[r][i] m[i][j] for r < rows, i < depth, j < cols; i in order, products rounded before
/// they are added, so that the bits depend neither on the instruction set nor on how rows are cut into calls.
void accumulate_product(FloatBlock out, FloatBlock a, FloatBlock m, int64_t rows, int64_t depth,
                        int64_t cols);

/// out[j] += a * row[j].
void accumulate_scaled(float* out, const float* row, float a, int64_t cols);

/// sum_k weight[k] (value(k) - values[k])^2, value(k) the nearest of scale * (lowest ... highest), in 16
/// interleaved sums.
float rounding_error(const float* values, const float* weights, int64_t count, float scale, float lowest,
                     float highest);

/// Nearest integer, ties to even, of |x| < 2^22.
inline float round_even(float x) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: the sum has no bits for fractions
  return (x + kShift) - kShift;
}

}  // namespace tercet
