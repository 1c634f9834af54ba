#include "backends/cuda/kernels/common.cuh"
#include "backends/cuda/kernels/kernels.h"

/// Operations on one row, or on one element, at a time, and the calibration sums.
namespace tercet::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kTile = 16;

__device__ int64_t element() {
  return blockIdx.x * static_cast<int64_t>(kBlock) + threadIdx.x;
}

/// The reciprocal of a row's root mean square, by one warp.
__device__ float warp_inverse_rms(const float* x, int64_t cols, float eps) {
  return 1.0F / sqrtf(warp_dot(x, x, cols) / static_cast<float>(cols) + eps);
}

__global__ void rms_norm_kernel(const float* x, int64_t cols, const float* w, float eps, bool offset,
                                float* out) {
  const float* row = x + blockIdx.x * cols;
  const float inverse = warp_inverse_rms(row, cols, eps);
  for (int64_t i = threadIdx.x; i < cols; i += kWarp) {
    out[blockIdx.x * cols + i] = row[i] * inverse * (offset ? 1.0F + w[i] : w[i]);
  }
}

__global__ void gated_rms_norm_kernel(const float* x, const float* z, int64_t head_dim, const float* w,
                                      float eps, float* out) {
  const int64_t first = blockIdx.x * head_dim;
  const float inverse = warp_inverse_rms(x + first, head_dim, eps);
  for (int64_t i = threadIdx.x; i < head_dim; i += kWarp) {
    out[first + i] = x[first + i] * inverse * w[i] * silu(z[first + i]);
  }
}

__global__ void sigmoid_gate_kernel(float* x, int64_t count, int64_t cols, const float* gate,
                                    int64_t gate_cols) {
  const int64_t i = element();
  if (i < count) x[i] *= sigmoid(gate[gate_cols == 1 ? i / cols : i]);
}

__global__ void silu_mul_kernel(const float* gate, const float* up, int64_t count, float* out) {
  const int64_t i = element();
  if (i < count) out[i] = silu(gate[i]) * up[i];
}

__global__ void add_kernel(float* x, const float* y, int64_t count) {
  const int64_t i = element();
  if (i < count) x[i] += y[i];
}

__global__ void gather_rows_kernel(const float* x, const int32_t* rows, int64_t cols, float* out) {
  const float* row = x + rows[blockIdx.x] * cols;
  for (int64_t i = threadIdx.x; i < cols; i += kBlock) out[blockIdx.x * cols + i] = row[i];
}

/// The warp's best untaken expert: the largest logit, ties and NaN to the lower index.
__device__ int32_t warp_best(const float* logits, const bool* taken, int64_t experts) {
  int32_t best = -1;
  float value = 0;
  for (int32_t e = static_cast<int32_t>(threadIdx.x); e < experts; e += kWarp) {
    if (!taken[e] && (best < 0 || logits[e] > value)) {
      best = e;
      value = logits[e];
    }
  }
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const int32_t other = __shfl_xor_sync(0xffffffffU, best, offset);
    const float other_value = __shfl_xor_sync(0xffffffffU, value, offset);
    // Written so that both lanes of an exchange agree whatever the values are.
    const bool smaller =
        best < 0 || (other >= 0 && (other_value > value || (!(value > other_value) && other < best)));
    if (smaller) {
      best = other;
      value = other_value;
    }
  }
  return best;
}

__global__ void router_topk_kernel(const float* logits, int64_t experts, int64_t top_k, int32_t* index,
                                   float* weight) {
  extern __shared__ bool taken[];
  const float* row = logits + blockIdx.x * experts;
  int32_t* chosen = index + blockIdx.x * top_k;
  float* share = weight + blockIdx.x * top_k;
  for (int64_t e = threadIdx.x; e < experts; e += kWarp) taken[e] = false;
  __syncwarp();
  float largest = 0;
  float total = 0;
  for (int64_t j = 0; j < top_k; ++j) {
    const int32_t best = warp_best(row, taken, experts);
    if (j == 0) largest = row[best];
    // The softmax over all experts and its renormalization share a denominator, which cancels.
    const float exponential = expf(row[best] - largest);
    total += exponential;
    __syncwarp();
    if (threadIdx.x == 0) {
      taken[best] = true;
      chosen[j] = best;
      share[j] = exponential;
    }
    __syncwarp();
  }
  if (threadIdx.x == 0) {
    for (int64_t j = 0; j < top_k; ++j) share[j] /= total;
  }
}

__global__ void quantize_activations_kernel(const float* x, int64_t cols, int64_t group, int64_t groups,
                                            int8_t* codes, float* scales) {
  const int64_t first = blockIdx.x * cols + blockIdx.y * group;
  const int64_t count = min(group, cols - blockIdx.y * group);
  float largest = 0;
  for (int64_t i = threadIdx.x; i < count; i += kWarp) largest = fmaxf(largest, fabsf(x[first + i]));
  const float scale = warp_max(largest) / 127.0F;
  for (int64_t i = threadIdx.x; i < count; i += kWarp) {
    codes[first + i] =
        scale == 0.0F ? static_cast<int8_t>(0) : static_cast<int8_t>(rintf(x[first + i] / scale));
  }
  if (threadIdx.x == 0) scales[blockIdx.x * groups + blockIdx.y] = scale;
}

__global__ void accumulate_products_kernel(const float* x, const float* y, int64_t rows, int64_t cols,
                                           float scale, float* out) {
  const int64_t i = blockIdx.y * static_cast<int64_t>(kTile) + threadIdx.x / kTile;
  const int64_t j = blockIdx.x * static_cast<int64_t>(kTile) + threadIdx.x % kTile;
  if (i >= cols || j >= cols) return;
  float sum = out[i * cols + j];
  for (int64_t t = 0; t < rows; ++t) sum = fmaf(scale * x[t * cols + i], y[t * cols + j], sum);
  out[i * cols + j] = sum;
}

}  // namespace

void rms_norm(cudaStream_t stream, const float* x, int64_t rows, int64_t cols, const float* w, float eps,
              bool offset, float* out) {
  launch("rms_norm", rms_norm_kernel, grid(rows, 1), kWarp, 0, stream, x, cols, w, eps, offset, out);
}

void gated_rms_norm(cudaStream_t stream, const float* x, const float* z, int64_t heads, int64_t head_dim,
                    const float* w, float eps, float* out) {
  launch("gated_rms_norm", gated_rms_norm_kernel, grid(heads, 1), kWarp, 0, stream, x, z, head_dim, w, eps,
         out);
}

void sigmoid_gate(cudaStream_t stream, float* x, int64_t rows, int64_t cols, const float* gate,
                  int64_t gate_cols) {
  launch("sigmoid_gate", sigmoid_gate_kernel, grid(blocks(rows * cols, kBlock), 1), kBlock, 0, stream, x,
         rows * cols, cols, gate, gate_cols);
}

void silu_mul(cudaStream_t stream, const float* gate, const float* up, int64_t count, float* out) {
  launch("silu_mul", silu_mul_kernel, grid(blocks(count, kBlock), 1), kBlock, 0, stream, gate, up, count,
         out);
}

void add(cudaStream_t stream, float* x, const float* y, int64_t count) {
  launch("add", add_kernel, grid(blocks(count, kBlock), 1), kBlock, 0, stream, x, y, count);
}

void gather_rows(cudaStream_t stream, const float* x, const int32_t* rows, int64_t count, int64_t cols,
                 float* out) {
  launch("gather_rows", gather_rows_kernel, grid(count, 1), kBlock, 0, stream, x, rows, cols, out);
}

void router_topk(cudaStream_t stream, const float* logits, int64_t rows, int64_t experts, int64_t top_k,
                 int32_t* index, float* weight) {
  launch("router_topk", router_topk_kernel, grid(rows, 1), kWarp, experts, stream, logits, experts, top_k,
         index, weight);
}

void quantize_activations(cudaStream_t stream, const float* x, int64_t rows, int64_t cols, int64_t group,
                          int8_t* codes, float* scales) {
  const int64_t groups = blocks(cols, group);
  launch("quantize_activations", quantize_activations_kernel, grid(rows, groups), kWarp, 0, stream, x, cols,
         group, groups, codes, scales);
}

void accumulate_products(cudaStream_t stream, const float* x, const float* y, int64_t rows, int64_t cols,
                         float scale, float* out) {
  launch("accumulate_products", accumulate_products_kernel, grid(blocks(cols, kTile), blocks(cols, kTile)),
         kTile * kTile, 0, stream, x, y, rows, cols, scale, out);
}

}  // namespace tercet::cuda
