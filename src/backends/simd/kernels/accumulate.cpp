#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/vec.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

/// R rows times V vectors of out; the last vector has `last` lanes.
template <int R, int V>
void accumulate_block(const float* x, const float* y, int64_t rows, int64_t cols, float scale, float* out,
                      int64_t last) {
  F total[R][V];
  const auto lanes = [&](int v) { return v == V - 1 ? last : int64_t{16}; };
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) total[r][v] = load_n(out + r * cols + 16 * v, lanes(v));
  }
  for (int64_t t = 0; t < rows; ++t) {
    F right[V];
    for (int v = 0; v < V; ++v)
      right[v] = last == 16 ? load(y + t * cols + 16 * v) : load_n(y + t * cols + 16 * v, lanes(v));
    for (int r = 0; r < R; ++r) {
      const F left = splat(scale * x[t * cols + r]);
      for (int v = 0; v < V; ++v) total[r][v] = fma(left, right[v], total[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) store_n(out + r * cols + 16 * v, total[r][v], lanes(v));
  }
}

template <int R>
void accumulate_rows(const float* x, const float* y, int64_t rows, int64_t cols, float scale, float* out) {
  int64_t j = 0;
  for (; j + 64 <= cols; j += 64) accumulate_block<R, 4>(x, y + j, rows, cols, scale, out + j, 16);
  for (; j < cols; j += 16) {
    accumulate_block<R, 1>(x, y + j, rows, cols, scale, out + j, cols - j < 16 ? cols - j : 16);
  }
}

}  // namespace

void accumulate(const float* x, const float* y, int64_t rows, int64_t cols, float scale, int64_t begin,
                int64_t end, float* out) {
  int64_t i = begin;
  for (; i + kBlockRows <= end; i += kBlockRows) {
    accumulate_rows<kBlockRows>(x + i, y, rows, cols, scale, out + i * cols);
  }
  for (; i < end; ++i) accumulate_rows<1>(x + i, y, rows, cols, scale, out + i * cols);
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
