#include "backends/cuda/kernels/common.cuh"
#include "backends/cuda/kernels/kernels.h"
#include "ops/step.h"

/// Query and key preparation, the KV cache, and attention over its pages.
namespace tercet::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kBlock = kWarps * kWarp;
static_assert(kPageSize <= kBlock, "a thread a key");

/// Normalizes (1 + w) and rotates one head from `x` to `out`, which may be `x`, by one warp.
__device__ void norm_rope(const float* x, const float* w, int64_t head_dim, const float* inverse_frequencies,
                          int64_t half, float position, float eps, float* out) {
  const float inverse = 1.0F / sqrtf(warp_dot(x, x, head_dim) / static_cast<float>(head_dim) + eps);
  for (int64_t i = threadIdx.x; i < half; i += kWarp) {
    const float angle = position * inverse_frequencies[i];
    const float c = cosf(angle);
    const float s = sinf(angle);
    const float a = x[i] * inverse * (1.0F + w[i]);
    const float b = x[i + half] * inverse * (1.0F + w[i + half]);
    out[i] = a * c - b * s;
    out[i + half] = b * c + a * s;
  }
  for (int64_t i = 2 * half + threadIdx.x; i < head_dim; i += kWarp) out[i] = x[i] * inverse * (1.0F + w[i]);
}

__global__ void qk_norm_rope_kernel(StepView step, const float* qg, float* k, int64_t heads, int64_t kv_heads,
                                    int64_t head_dim, const float* q_norm, const float* k_norm,
                                    const float* inverse_frequencies, int64_t half, float eps, float* q_out,
                                    float* gate_out) {
  const int64_t row = blockIdx.x;
  const int64_t head = blockIdx.y;  // the query heads, then the key heads
  const float position = static_cast<float>(step.row_position[row]);
  if (head >= heads) {
    float* key = k + (row * kv_heads + head - heads) * head_dim;
    norm_rope(key, k_norm, head_dim, inverse_frequencies, half, position, eps, key);
    return;
  }
  const float* query = qg + (row * heads + head) * 2 * head_dim;
  const int64_t first = (row * heads + head) * head_dim;
  norm_rope(query, q_norm, head_dim, inverse_frequencies, half, position, eps, q_out + first);
  for (int64_t i = threadIdx.x; i < head_dim; i += kWarp) gate_out[first + i] = query[head_dim + i];
}

/// The page of `position` of the sequence at `span`.
__device__ float* page_of(const StepView& step, const KvView& cache, const SpanView& span, int64_t position) {
  return cache.pages + step.pages[span.first_page + position / kPageSize] * cache.page_stride;
}

__global__ void kv_append_kernel(StepView step, const float* k, const float* v, KvView cache) {
  const int64_t row = blockIdx.x;
  const int64_t width = cache.kv_heads * cache.head_dim;
  const int64_t position = step.row_position[row];
  float* keys = page_of(step, cache, step.spans[step.row_span[row]], position) + position % kPageSize * width;
  for (int64_t i = threadIdx.x; i < width; i += kBlock) {
    keys[i] = k[row * width + i];
    keys[kPageSize * width + i] = v[row * width + i];
  }
}

/// Softmax over the keys seen so far, as every thread of the block holds it.
struct OnlineSoftmax {
  float largest = -INFINITY;
  float total = 0;

  /// Takes in `count` scores, which become their weights relative to the new largest; returns what to
  /// multiply earlier sums by.
  __device__ float take_page(float* scores, int64_t count) {
    float page_largest = largest;
    for (int64_t j = 0; j < count; ++j) page_largest = fmaxf(page_largest, scores[j]);
    const float correction = expf(largest - page_largest);
    largest = page_largest;
    __syncthreads();
    if (threadIdx.x < count) scores[threadIdx.x] = expf(scores[threadIdx.x] - largest);
    __syncthreads();
    total *= correction;
    for (int64_t j = 0; j < count; ++j) total += scores[j];
    return correction;
  }
};

/// One block a (row, query head); the pages one after another, so that the order of the sums is the
/// position's alone.
__global__ void attention_kernel(StepView step, const float* q, int64_t heads, KvView cache, float* out) {
  extern __shared__ float shared[];  // the query, then the weighted sum of values
  __shared__ float scores[kPageSize];
  const int64_t row = blockIdx.x;
  const int64_t head = blockIdx.y;
  const int64_t head_dim = cache.head_dim;
  const int64_t width = cache.kv_heads * head_dim;
  const int64_t kv_first = head / (heads / cache.kv_heads) * head_dim;
  const int64_t q_first = (row * heads + head) * head_dim;
  float* query = shared;
  float* sum = shared + head_dim;
  for (int64_t d = threadIdx.x; d < head_dim; d += kBlock) {
    query[d] = q[q_first + d];
    sum[d] = 0;
  }
  __syncthreads();
  const float scale = 1.0F / sqrtf(static_cast<float>(head_dim));
  const SpanView span = step.spans[step.row_span[row]];
  const int64_t keys_seen = step.row_position[row] + 1;
  OnlineSoftmax softmax;
  for (int64_t first = 0; first < keys_seen; first += kPageSize) {
    const int64_t count = min(kPageSize, keys_seen - first);
    const float* keys = page_of(step, cache, span, first) + kv_first;
    const float* values = keys + kPageSize * width;
    for (int64_t j = threadIdx.x / kWarp; j < count; j += kWarps) {
      const float dot = warp_dot(query, keys + j * width, head_dim);
      if (threadIdx.x % kWarp == 0) scores[j] = dot * scale;
    }
    __syncthreads();
    const float correction = softmax.take_page(scores, count);
    for (int64_t d = threadIdx.x; d < head_dim; d += kBlock) {
      float value = sum[d] * correction;
      for (int64_t j = 0; j < count; ++j) value = fmaf(scores[j], values[j * width + d], value);
      sum[d] = value;
    }
    __syncthreads();
  }
  for (int64_t d = threadIdx.x; d < head_dim; d += kBlock) out[q_first + d] = sum[d] / softmax.total;
}

}  // namespace

void qk_norm_rope(cudaStream_t stream, const StepView& step, const float* qg, float* k, int64_t heads,
                  int64_t kv_heads, int64_t head_dim, const float* q_norm, const float* k_norm,
                  const float* inverse_frequencies, int64_t frequencies, float eps, float* q_out,
                  float* gate_out) {
  launch("qk_norm_rope", qk_norm_rope_kernel, grid(step.rows, heads + kv_heads), kWarp, 0, stream, step, qg,
         k, heads, kv_heads, head_dim, q_norm, k_norm, inverse_frequencies, frequencies, eps, q_out,
         gate_out);
}

void kv_append(cudaStream_t stream, const StepView& step, const float* k, const float* v,
               const KvView& cache) {
  launch("kv_append", kv_append_kernel, grid(step.rows, 1), kBlock, 0, stream, step, k, v, cache);
}

void attention(cudaStream_t stream, const StepView& step, const float* q, int64_t heads, const KvView& cache,
               float* out) {
  launch("attention", attention_kernel, grid(step.rows, heads), kBlock, 2 * cache.head_dim * 4, stream, step,
         q, heads, cache, out);
}

}  // namespace tercet::cuda
