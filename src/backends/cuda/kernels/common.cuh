#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "backends/cuda/device.h"

namespace tercet::cuda {

inline constexpr int kWarp = 32;

/// Starts a kernel; an empty grid is nothing to do.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, int block, int64_t shared_bytes,
            cudaStream_t stream, Arguments... arguments) {
  if (grid.x == 0 || grid.y == 0) return;
  kernel<<<grid, block, static_cast<size_t>(shared_bytes), stream>>>(arguments...);
  check(cudaGetLastError(), name);
}

/// Blocks of `block` that cover `count`.
inline unsigned blocks(int64_t count, int64_t block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

inline dim3 grid(int64_t x, int64_t y) {
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
}

/// The sum of the warp's values, the same in every lane: a butterfly, so that the order is fixed.
__device__ inline float warp_sum(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

__device__ inline float warp_max(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, offset));
  return value;
}

/// The dot product of two vectors by one warp, the same in every lane.
__device__ inline float warp_dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t i = threadIdx.x % kWarp; i < count; i += kWarp) sum = fmaf(a[i], b[i], sum);
  return warp_sum(sum);
}

__device__ inline float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}
__device__ inline float silu(float x) {
  return x / (1.0F + expf(-x));
}

}  // namespace tercet::cuda
