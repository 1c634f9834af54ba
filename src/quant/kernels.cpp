#include "quant/kernels.h"

#include <algorithm>
#include <cstring>

// The compiler makes one version of a function for each instruction set, picked when the program starts.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define TERCET_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TERCET_CLONES
#endif

namespace tercet {
namespace {

constexpr int64_t kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

}  // namespace

TERCET_CLONES void accumulate_product(FloatBlock out, FloatBlock a, FloatBlock m, int64_t rows, int64_t depth,
                                      int64_t cols) {
  const int64_t whole = cols / kLanes * kLanes;
  for (int64_t j = 0; j < whole; j += kLanes) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      Lanes sum[4];
      for (int64_t q = 0; q < 4; ++q) std::memcpy(&sum[q], out.row(r + q) + j, sizeof(Lanes));
      for (int64_t i = 0; i < depth; ++i) {
        Lanes right;
        std::memcpy(&right, m.row(i) + j, sizeof(Lanes));
        for (int64_t q = 0; q < 4; ++q) sum[q] += a.row(r + q)[i] * right;
      }
      for (int64_t q = 0; q < 4; ++q) std::memcpy(out.row(r + q) + j, &sum[q], sizeof(Lanes));
    }
    for (; r < rows; ++r) {
      Lanes sum;
      std::memcpy(&sum, out.row(r) + j, sizeof(Lanes));
      for (int64_t i = 0; i < depth; ++i) {
        Lanes right;
        std::memcpy(&right, m.row(i) + j, sizeof(Lanes));
        sum += a.row(r)[i] * right;
      }
      std::memcpy(out.row(r) + j, &sum, sizeof(Lanes));
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = whole; j < cols; ++j) {
      float sum = out.row(r)[j];
      for (int64_t i = 0; i < depth; ++i) sum += a.row(r)[i] * m.row(i)[j];
      out.row(r)[j] = sum;
    }
  }
}

TERCET_CLONES void accumulate_scaled(float* out, const float* row, float a, int64_t cols) {
  for (int64_t j = 0; j < cols; ++j) out[j] += a * row[j];
}

TERCET_CLONES float rounding_error(const float* values, const float* weights, int64_t count, float scale,
                                   float lowest, float highest) {
  float sums[kLanes] = {};
  const auto term = [&](int64_t k) {
    const float ratio = values[k] / scale;
    const float clamped = ratio < lowest ? lowest : (ratio > highest ? highest : ratio);
    const float error = round_even(clamped) * scale - values[k];
    return weights[k] * (error * error);
  };
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t k = 0; k < whole; k += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(k + lane);
  }
  for (int64_t k = whole; k < count; ++k) sums[k - whole] += term(k);
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

}  // namespace tercet
