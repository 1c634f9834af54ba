#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/matmul.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

/// The softmax so far of one row and head: the largest score and the sum of e^(score - largest).
struct Softmax {
  float largest;
  float total;
};

/// Turns `count` raw scores of a page into shares e^(score - largest), and gives the factor by which earlier
/// shares shrink.
float take_page(float* scores, int64_t count, float scale, Softmax& so_far) {
  const float infinity = __builtin_inff();
  F page_largest = splat(-infinity);
  for_lanes(kKernelPage, [&](int64_t i, int64_t) {
    const int64_t valid = count - i < 0 ? 0 : (count - i > 16 ? 16 : count - i);
    const F score = first_n(load(scores + i) * splat(scale), valid, splat(-infinity));
    store(scores + i, score);
    page_largest = max(page_largest, score);
  });
  const float peak = largest(page_largest);
  const float now = peak > so_far.largest ? peak : so_far.largest;
  F shares = splat(0.0F);
  for_lanes(kKernelPage, [&](int64_t i, int64_t) {
    const F share = exp(load(scores + i) - splat(now));
    store(scores + i, share);
    shares = shares + share;
  });
  float shrink[kLanes];
  store(shrink, exp(splat(so_far.largest - now)));
  so_far.total = __builtin_fmaf(so_far.total, shrink[0], sum(shares));
  so_far.largest = now;
  return shrink[0];
}

void scale_row(float* x, int64_t count, F factor) {
  for_lanes(count, [&](int64_t i, int64_t n) { store_n(x + i, load_n(x + i, n) * factor, n); });
}

}  // namespace

void attention(const AttentionJob& job) {
  const int64_t size = job.head_dim;
  Softmax softmax[kRowTile][kHeadTile];
  float scores[kHeadTile][kKernelPage];
  const int64_t last = job.position + job.rows - 1;
  for (int64_t page = 0; page * kKernelPage <= last; ++page) {
    const float* keys = job.kv + job.pages[page] * job.page_stride;
    const float* values = keys + size * kKernelPage;
    for (int64_t t = 0; t < job.rows; ++t) {
      const int64_t left = job.position + t + 1 - page * kKernelPage;
      if (left <= 0) continue;
      const int64_t count = left < kKernelPage ? left : kKernelPage;
      const float* query = job.query + t * job.stride;
      float* out = job.out + t * job.stride;
      matmul(query, size, job.heads, keys, kKernelPage, size, scores[0], kKernelPage, (count + 15) / 16 * 16,
             true);
      for (int64_t h = 0; h < job.heads; ++h) {
        if (page == 0) softmax[t][h] = {-__builtin_inff(), 0.0F};
        const float shrink = take_page(scores[h], count, job.scale, softmax[t][h]);
        if (page > 0) scale_row(out + h * size, size, splat(shrink));
      }
      matmul(scores[0], kKernelPage, job.heads, values, size, count, out, size, size, page == 0);
      if (left > kKernelPage) continue;
      for (int64_t h = 0; h < job.heads; ++h)
        scale_row(out + h * size, size, splat(1.0F / softmax[t][h].total));
    }
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
