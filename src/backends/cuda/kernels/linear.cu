#include <cuda_bf16.h>

#include "backends/cuda/kernels/common.cuh"
#include "backends/cuda/kernels/kernels.h"

/// Products with prepared weights: one warp an output, its lanes 32 columns apart, then a butterfly. The
/// order of a sum is the same for one row of x or many.
namespace tercet::cuda {
namespace {

constexpr int kWarps = 8;        // outputs of a block
constexpr int kRowsPerWarp = 8;  // rows of x that share one pass over a row of the weight

__device__ float dequantize(const MatrixView& w, int64_t row, int32_t col) {
  const uint32_t* words = static_cast<const uint32_t*>(w.data) + row * w.row_words;
  const uint32_t bit = static_cast<uint32_t>(col) * static_cast<uint32_t>(w.bits);
  const uint32_t pair = __funnelshift_r(words[bit / 32], words[bit / 32 + 1], bit % 32);
  const int32_t code = static_cast<int32_t>(pair & ((1U << w.bits) - 1U));
  const int64_t group = row * w.groups + (w.group_index != nullptr ? w.group_index[col] : col / w.group_size);
  const int32_t zero = w.zeros != nullptr ? w.zeros[group] : 1 << (w.bits - 1);
  return w.scales[group] * static_cast<float>(code - zero);
}

__device__ float weight_at(const MatrixView& w, int64_t row, int32_t col) {
  const int64_t i = row * w.cols + col;
  if (w.bits == 32) return static_cast<const float*>(w.data)[i];
  if (w.bits == 16) return __bfloat162float(static_cast<const __nv_bfloat16*>(w.data)[i]);
  return dequantize(w, row, col);
}

/// dots[r] = row `n` of w times x[r], for `rows` rows of x; the same in every lane.
template <int kRows>
__device__ void warp_dots(const MatrixView& w, int64_t n, const float* x, int64_t rows,
                          float (&dots)[kRows]) {
  for (int r = 0; r < kRows; ++r) dots[r] = 0;
  for (int32_t k = static_cast<int32_t>(threadIdx.x % kWarp); k < w.cols; k += kWarp) {
    const float weight = weight_at(w, n, k);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows) dots[r] = fmaf(weight, x[r * static_cast<int64_t>(w.cols) + k], dots[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) dots[r] = warp_sum(dots[r]);
}

__device__ int64_t output_of_warp() {
  return blockIdx.y * static_cast<int64_t>(kWarps) + threadIdx.x / kWarp;
}

__global__ void embed_kernel(const int32_t* ids, const MatrixView* table, int64_t table_rows, int64_t cols,
                             float* out) {
  const int64_t id = ids[blockIdx.x];
  const MatrixView w = *table;
  for (int32_t k = static_cast<int32_t>(threadIdx.x); k < cols; k += static_cast<int32_t>(blockDim.x)) {
    // A sampled id may be -1 (no finite logit): it shows as NaN instead of reading beside the table.
    out[blockIdx.x * cols + k] = id >= 0 && id < table_rows ? weight_at(w, id, k) : nanf("");
  }
}

__global__ void linear_kernel(const float* x, int64_t rows, const MatrixView* stack, int64_t outputs,
                              float* out) {
  const int64_t n = output_of_warp();
  if (n >= outputs) return;
  const MatrixView w = *stack;
  const int64_t first = blockIdx.x * static_cast<int64_t>(kRowsPerWarp);
  const int64_t count = min(static_cast<int64_t>(kRowsPerWarp), rows - first);
  float dots[kRowsPerWarp];
  warp_dots(w, n, x + first * w.cols, count, dots);
  if (threadIdx.x % kWarp != 0) return;
#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) {
    if (r < count) out[(first + r) * outputs + n] = dots[r];
  }
}

/// One (row, choice) pair a block column: hidden = silu(gate x) * up x.
__global__ void expert_hidden_kernel(const float* x, const int32_t* index, int64_t top_k,
                                     const MatrixView* gate, const MatrixView* up, int64_t width,
                                     float* hidden) {
  const int64_t n = output_of_warp();
  if (n >= width) return;
  const int64_t pair = blockIdx.x;
  const MatrixView gate_matrix = gate[index[pair]];
  const MatrixView up_matrix = up[index[pair]];
  const float* row = x + pair / top_k * gate_matrix.cols;
  float gate_dot[1];
  float up_dot[1];
  warp_dots(gate_matrix, n, row, 1, gate_dot);
  warp_dots(up_matrix, n, row, 1, up_dot);
  if (threadIdx.x % kWarp == 0) hidden[pair * width + n] = silu(gate_dot[0]) * up_dot[0];
}

__global__ void expert_out_kernel(const float* hidden, const int32_t* index, const float* weight,
                                  int64_t top_k, const MatrixView* down, int64_t width, int64_t outputs,
                                  float* out) {
  const int64_t n = output_of_warp();
  if (n >= outputs) return;
  const int64_t row = blockIdx.x;
  float sum = 0;
  for (int64_t pair = row * top_k; pair < (row + 1) * top_k; ++pair) {
    float dot[1];
    warp_dots(down[index[pair]], n, hidden + pair * width, 1, dot);
    sum = fmaf(weight[pair], dot[0], sum);
  }
  if (threadIdx.x % kWarp == 0) out[row * outputs + n] = sum;
}

}  // namespace

void embed(cudaStream_t stream, const int32_t* ids, int64_t count, const MatrixView* table,
           int64_t table_rows, int64_t cols, float* out) {
  launch("embed", embed_kernel, grid(count, 1), 256, 0, stream, ids, table, table_rows, cols, out);
}

void linear(cudaStream_t stream, const float* x, int64_t rows, const MatrixView* w, int64_t outputs,
            float* out) {
  const dim3 tiles(blocks(rows, kRowsPerWarp), blocks(outputs, kWarps));
  launch("linear", linear_kernel, tiles, kWarps * kWarp, 0, stream, x, rows, w, outputs, out);
}

void moe_ffn(cudaStream_t stream, const float* x, int64_t rows, const int32_t* index, const float* weight,
             int64_t top_k, const MatrixView* gate, const MatrixView* up, const MatrixView* down,
             int64_t width, int64_t outputs, float* hidden, float* out) {
  launch("moe_ffn: gate and up", expert_hidden_kernel, grid(rows * top_k, blocks(width, kWarps)),
         kWarps * kWarp, 0, stream, x, index, top_k, gate, up, width, hidden);
  launch("moe_ffn: down", expert_out_kernel, grid(rows, blocks(outputs, kWarps)), kWarps * kWarp, 0, stream,
         hidden, index, weight, top_k, down, width, outputs, out);
}

}  // namespace tercet::cuda
