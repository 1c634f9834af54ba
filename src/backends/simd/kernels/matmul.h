#pragma once

#include "backends/simd/kernels/vec.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

/// c[r][n] = start + sum_k a[r][k] b[k][n], start zero or c[r][n]: one chain of fma over rising k for each
/// element, whatever the rows and columns beside it. a [R][depth], b [depth][16 V], the last vector of `last`
/// lanes.
template <int R, int V>
void matmul_block(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t depth, float* c,
                  int64_t ldc, int64_t last, bool from_zero) {
  F total[R][V];
  const auto lanes = [&](int v) { return v == V - 1 ? last : int64_t{16}; };
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v)
      total[r][v] = from_zero ? splat(0.0F) : load_n(c + r * ldc + 16 * v, lanes(v));
  }
  if (last == 16) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) {
          total[r][v] = fma(splat(a[r * lda + k]), load(b + k * ldb + 16 * v), total[r][v]);
        }
      }
    }
  } else {
    for (int64_t k = 0; k < depth; ++k) {
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) {
          total[r][v] = fma(splat(a[r * lda + k]), load_n(b + k * ldb + 16 * v, lanes(v)), total[r][v]);
        }
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) store_n(c + r * ldc + 16 * v, total[r][v], lanes(v));
  }
}

template <int R>
void matmul_rows(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t depth, float* c,
                 int64_t ldc, int64_t cols, bool from_zero) {
  int64_t n = 0;
  for (; n + 64 <= cols; n += 64) matmul_block<R, 4>(a, lda, b + n, ldb, depth, c + n, ldc, 16, from_zero);
  for (; n < cols; n += 16) {
    matmul_block<R, 1>(a, lda, b + n, ldb, depth, c + n, ldc, cols - n < 16 ? cols - n : 16, from_zero);
  }
}

/// c [rows][cols] = (c or zero) + a [rows][depth] b [depth][cols]; see matmul_block.
inline void matmul(const float* a, int64_t lda, int64_t rows, const float* b, int64_t ldb, int64_t depth,
                   float* c, int64_t ldc, int64_t cols, bool from_zero) {
  int64_t r = 0;
  for (; r + kBlockRows <= rows; r += kBlockRows) {
    matmul_rows<kBlockRows>(a + r * lda, lda, b, ldb, depth, c + r * ldc, ldc, cols, from_zero);
  }
  for (; r < rows; ++r) matmul_rows<1>(a + r * lda, lda, b, ldb, depth, c + r * ldc, ldc, cols, from_zero);
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
