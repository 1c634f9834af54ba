#include <cub/device/device_radix_sort.cuh>

#include "backends/cuda/kernels/common.cuh"
#include "backends/cuda/kernels/kernels.h"

/// Drawing a token from one row of logits: sample_row of ops/sampling.h, step by step.
namespace tercet::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kWideBlock = 1024;

/// Penalties; what may never be drawn becomes minus infinity.
__global__ void prepare_kernel(const float* logits, int64_t vocab, const uint8_t* seen, DrawParams params,
                               float* out, int32_t* ids) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(kBlock) + threadIdx.x;
  if (i >= vocab) return;
  float value = isfinite(logits[i]) ? logits[i] : -INFINITY;
  if (seen != nullptr && (seen[i] & 1U) != 0) {
    value = value > 0 ? value / params.repetition_penalty : value * params.repetition_penalty;
  }
  if (seen != nullptr && (seen[i] & 2U) != 0) value -= params.presence_penalty;
  out[i] = value > -INFINITY ? value : -INFINITY;  // no NaN: it would sort first
  ids[i] = static_cast<int32_t>(i);
}

/// The largest logit, ties to the lower id; -1 where all are minus infinity.
__global__ void largest_kernel(const float* logits, int64_t vocab, int32_t* token) {
  __shared__ float values[kWideBlock];
  __shared__ int32_t ids[kWideBlock];
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = -INFINITY;
  ids[thread] = -1;
  for (int64_t i = thread; i < vocab; i += kWideBlock) {
    if (logits[i] > values[thread]) {
      values[thread] = logits[i];
      ids[thread] = static_cast<int32_t>(i);
    }
  }
  __syncthreads();
  for (int half = kWideBlock / 2; half > 0; half /= 2) {
    if (thread < half) {
      const int other = thread + half;
      const bool tie = values[other] == values[thread] && ids[other] >= 0 && ids[other] < ids[thread];
      if (values[other] > values[thread] || tie) {
        values[thread] = values[other];
        ids[thread] = ids[other];
      }
    }
    __syncthreads();
  }
  if (thread == 0) *token = ids[0];
}

/// The draw among `count` candidates in falling order, once the block has filled in their weights.
__device__ int32_t draw(const double* weights, const int32_t* ids, int64_t count, const DrawParams& params) {
  if (count == 0 || !(weights[0] > 0)) return -1;
  double total = 0;
  int64_t kept = 0;
  for (; kept < count && (kept == 0 || (weights[kept] > 0 && !(weights[kept] < params.min_p))); ++kept)
    total += weights[kept];
  double nucleus = 0;
  int64_t used = 0;
  while (used < kept && (used == 0 || nucleus < params.top_p * total)) nucleus += weights[used++];
  double target = params.uniform * nucleus;
  for (int64_t i = 0; i + 1 < used; ++i) {
    if (target < weights[i]) return ids[i];
    target -= weights[i];
  }
  return ids[used - 1];
}

__global__ void draw_kernel(const float* logits, const int32_t* ids, int64_t count, DrawParams params,
                            double* weights, int32_t* token) {
  const double top = logits[0];
  for (int64_t i = threadIdx.x; i < count; i += kWideBlock) {
    weights[i] = logits[i] > -INFINITY ? exp((logits[i] - top) / params.temperature) : 0.0;
  }
  __syncthreads();
  if (threadIdx.x == 0) *token = draw(weights, ids, count, params);
}

void sort_falling(void* scratch, size_t& bytes, const float* keys, float* sorted_keys, const int32_t* ids,
                  int32_t* sorted_ids, int64_t count, cudaStream_t stream) {
  // A stable sort: equal logits stay in the order of their ids.
  check(cub::DeviceRadixSort::SortPairsDescending(scratch, bytes, keys, sorted_keys, ids, sorted_ids,
                                                  static_cast<int>(count), 0, 32, stream),
        "sample: sort");
}

}  // namespace

int64_t sort_scratch_bytes(int64_t vocab) {
  size_t bytes = 0;
  sort_falling(nullptr, bytes, nullptr, nullptr, nullptr, nullptr, vocab, nullptr);
  return static_cast<int64_t>(bytes);
}

void sample(cudaStream_t stream, const float* logits, int64_t vocab, const uint8_t* seen,
            const DrawParams& params, const SampleScratch& scratch, int32_t* token) {
  launch("sample: prepare", prepare_kernel, grid(blocks(vocab, kBlock), 1), kBlock, 0, stream, logits, vocab,
         seen, params, scratch.logits, scratch.ids);
  if (params.temperature <= 0.0F) {
    launch("sample: largest", largest_kernel, grid(1, 1), kWideBlock, 0, stream, scratch.logits, vocab,
           token);
    return;
  }
  size_t bytes = static_cast<size_t>(scratch.sort_bytes);
  sort_falling(scratch.sort, bytes, scratch.logits, scratch.sorted_logits, scratch.ids, scratch.sorted_ids,
               vocab, stream);
  launch("sample: draw", draw_kernel, grid(1, 1), kWideBlock, 0, stream, scratch.sorted_logits,
         scratch.sorted_ids, params.keep, params, scratch.weights, token);
}

}  // namespace tercet::cuda
