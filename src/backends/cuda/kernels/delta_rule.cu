#include "backends/cuda/kernels/common.cuh"
#include "backends/cuda/kernels/kernels.h"
#include "ops/step.h"

/// The Gated DeltaNet mixer's own operations: the short convolution, the gates and the gated delta rule.
namespace tercet::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kBlock = kWarps * kWarp;

/// The arrays of one slot, in the order of StateShape::slot_floats.
struct Slot {
  float* state;      // [value_heads, key_dim, value_dim]
  float* keys;       // [kChunkSize, key_heads, key_dim]
  float* corrected;  // [kChunkSize, value_heads, value_dim]
  float* decays;     // [kChunkSize, value_heads]
  float* inputs;     // [conv_kernel - 1, conv_channels]: the input of position p in row p % (conv_kernel - 1)

  __device__ Slot(const SlotView& view, int64_t slot) {
    state = view.slots + slot * view.slot_stride;
    keys = state + view.value_heads * view.key_dim * view.value_dim;
    corrected = keys + kChunkSize * view.key_heads * view.key_dim;
    decays = corrected + kChunkSize * view.value_heads * view.value_dim;
    inputs = decays + kChunkSize * view.value_heads;
  }
};

__global__ void conv_kernel(StepView step, const float* u, const float* w, SlotView view, float* out) {
  const int64_t channel = blockIdx.y * static_cast<int64_t>(kBlock) + threadIdx.x;
  if (channel >= view.conv_channels) return;
  const int64_t row = blockIdx.x;
  const SpanView span = step.spans[step.row_span[row]];
  const Slot slot(view, span.slot);
  const int64_t kept = view.conv_kernel - 1;
  float sum = 0;
  for (int64_t j = 0; j <= kept; ++j) {
    const int64_t position = step.row_position[row] - kept + j;
    if (position < 0) continue;
    const float input = position >= span.position
                            ? u[(span.first_row + position - span.position) * view.conv_channels + channel]
                            : slot.inputs[position % kept * view.conv_channels + channel];
    sum = fmaf(w[channel * view.conv_kernel + j], input, sum);
  }
  out[row * view.conv_channels + channel] = silu(sum);
}

/// After conv_kernel: keeps the inputs of the last conv_kernel - 1 positions.
__global__ void keep_inputs_kernel(StepView step, const float* u, SlotView view) {
  const int64_t channel = blockIdx.y * static_cast<int64_t>(kBlock) + threadIdx.x;
  const int64_t row = blockIdx.x;
  const SpanView span = step.spans[step.row_span[row]];
  const int64_t kept = view.conv_kernel - 1;
  if (channel >= view.conv_channels || row + kept < span.first_row + span.rows) return;
  const Slot slot(view, span.slot);
  slot.inputs[step.row_position[row] % kept * view.conv_channels + channel] =
      u[row * view.conv_channels + channel];
}

__global__ void gdn_gates_kernel(const float* a, const float* b, int64_t count, int64_t value_heads,
                                 const float* a_log, const float* dt_bias, float* g, float* beta) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(kBlock) + threadIdx.x;
  if (i >= count) return;
  const float x = a[i] + dt_bias[i % value_heads];
  const float softplus = x > 20.0F ? x : log1pf(expf(x));  // above 20 the two agree to the last bit
  g[i] = -expf(a_log[i % value_heads]) * softplus;
  beta[i] = sigmoid(b[i]);
}

/// out = scale * x / |x|, by one warp.
__device__ void l2_normalize(const float* x, int64_t count, float scale, float* out) {
  const float inverse = 1.0F / sqrtf(warp_dot(x, x, count) + 1e-6F);
  for (int64_t d = threadIdx.x % kWarp; d < count; d += kWarp) out[d] = x[d] * inverse * scale;
}

/// One value head of one sequence, as one block walks along its rows. A thread owns columns of the state.
struct HeadWalk {
  const SlotView& view;
  const Slot slot;
  const int64_t head;
  const int64_t key_head;
  float* keys;           // shared [kChunkSize, key_dim], normalized
  float* query;          // shared [key_dim], normalized and scaled
  float* decays;         // shared [kChunkSize], summed logs
  float* key_weights;    // shared [kChunkSize]
  float* query_weights;  // shared [kChunkSize]

  __device__ float* state_column(int64_t c) const {
    return slot.state + head * view.key_dim * view.value_dim + c;
  }
  __device__ float* corrected(int64_t i, int64_t c) const {
    return slot.corrected + (i * view.value_heads + head) * view.value_dim + c;
  }

  /// Fetches the `count` rows of the open chunk that earlier steps left in the slot.
  __device__ void load_chunk(int64_t count) const {
    for (int64_t i = threadIdx.x; i < count * view.key_dim; i += kBlock) {
      const int64_t row = i / view.key_dim;
      keys[i] = slot.keys[(row * view.key_heads + key_head) * view.key_dim + i % view.key_dim];
    }
    for (int64_t i = threadIdx.x; i < count; i += kBlock)
      decays[i] = slot.decays[i * view.value_heads + head];
  }

  /// Row i's key, query and decay; and for each j <= i the weights of n_j in n_i and in the output.
  __device__ void prepare_row(int64_t i, const float* qkv, float g) const {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    if (warp == 0) {
      const float scale = 1.0F / sqrtf(static_cast<float>(view.key_dim));
      l2_normalize(qkv + key_head * view.key_dim, view.key_dim, scale, query);
    } else if (warp == 1) {
      l2_normalize(qkv + (view.key_heads + key_head) * view.key_dim, view.key_dim, 1.0F,
                   keys + i * view.key_dim);
    } else if (threadIdx.x == 2 * kWarp) {
      decays[i] = i == 0 ? g : decays[i - 1] + g;
      slot.decays[i * view.value_heads + head] = decays[i];
    }
    __syncthreads();
    for (int64_t j = warp; j <= i; j += kWarps) {
      const float* key = keys + j * view.key_dim;
      const float by_key = warp_dot(keys + i * view.key_dim, key, view.key_dim);
      const float by_query = warp_dot(query, key, view.key_dim);
      const float decay = expf(decays[i] - decays[j]);
      if (threadIdx.x % kWarp != 0) continue;
      key_weights[j] = decay * by_key;
      query_weights[j] = decay * by_query;
    }
    __syncthreads();
  }

  /// Column c of n_i and o_i; the first chunk's state is zero and is not read.
  __device__ void compute_row(int64_t i, int64_t c, bool first_chunk, float value, float beta,
                              float* out) const {
    float from_state_by_key = 0;
    float from_state_by_query = 0;
    for (int64_t d = 0; d < view.key_dim && !first_chunk; ++d) {
      const float s = state_column(c)[d * view.value_dim];
      from_state_by_key = fmaf(s, keys[i * view.key_dim + d], from_state_by_key);
      from_state_by_query = fmaf(s, query[d], from_state_by_query);
    }
    const float decay = expf(decays[i]);
    float n = fmaf(-decay, from_state_by_key, value);
    float o = decay * from_state_by_query;
    for (int64_t j = 0; j < i; ++j) {
      const float earlier = *corrected(j, c);
      n = fmaf(-key_weights[j], earlier, n);
      o = fmaf(query_weights[j], earlier, o);
    }
    n *= beta;
    *corrected(i, c) = n;
    *out = fmaf(query_weights[i], n, o);
  }

  /// After the chunk's last row.
  __device__ void advance_state(int64_t c, bool first_chunk) const {
    const float total = decays[kChunkSize - 1];
    for (int64_t d = 0; d < view.key_dim; ++d) {
      float* s = state_column(c) + d * view.value_dim;
      float sum = first_chunk ? 0.0F : expf(total) * *s;
      for (int64_t j = 0; j < kChunkSize; ++j) {
        sum = fmaf(expf(total - decays[j]) * keys[j * view.key_dim + d], *corrected(j, c), sum);
      }
      *s = sum;
    }
  }
};

__global__ void delta_rule_kernel(StepView step, const float* qkv, const float* g, const float* beta,
                                  SlotView view, float* out) {
  extern __shared__ float shared[];
  __shared__ float decays[kChunkSize];
  __shared__ float key_weights[kChunkSize];
  __shared__ float query_weights[kChunkSize];
  const SpanView span = step.spans[blockIdx.x];
  const int64_t head = blockIdx.y;
  const int64_t key_head = head / (view.value_heads / view.key_heads);
  const HeadWalk walk{
      view,   Slot(view, span.slot), head,         key_head, shared, shared + kChunkSize * view.key_dim,
      decays, key_weights,           query_weights};
  walk.load_chunk(span.position % kChunkSize);
  __syncthreads();
  for (int64_t r = 0; r < span.rows; ++r) {
    const int64_t row = span.first_row + r;
    const int64_t position = span.position + r;
    const int64_t i = position % kChunkSize;
    const bool first_chunk = position < kChunkSize;
    const float* inputs = qkv + row * view.conv_channels;
    const float* values = inputs + 2 * view.key_heads * view.key_dim + head * view.value_dim;
    walk.prepare_row(i, inputs, g[row * view.value_heads + head]);
    for (int64_t c = threadIdx.x; c < view.value_dim; c += kBlock) {
      walk.compute_row(i, c, first_chunk, values[c], beta[row * view.value_heads + head],
                       out + (row * view.value_heads + head) * view.value_dim + c);
      if (i == kChunkSize - 1) walk.advance_state(c, first_chunk);
    }
    __syncthreads();
  }
}

/// After delta_rule_kernel, as value heads that share a key head read its kept keys: keeps the open chunk's
/// keys.
__global__ void keep_keys_kernel(StepView step, const float* qkv, SlotView view) {
  const int64_t row = blockIdx.x;
  const int64_t key_head = blockIdx.y;
  const SpanView span = step.spans[step.row_span[row]];
  const int64_t position = step.row_position[row];
  if (position / kChunkSize != (span.position + span.rows - 1) / kChunkSize) return;
  const Slot slot(view, span.slot);
  l2_normalize(qkv + row * view.conv_channels + (view.key_heads + key_head) * view.key_dim, view.key_dim,
               1.0F, slot.keys + (position % kChunkSize * view.key_heads + key_head) * view.key_dim);
}

}  // namespace

void conv1d_update(cudaStream_t stream, const StepView& step, const float* u, const float* w,
                   const SlotView& state, float* out) {
  const dim3 tiles = grid(step.rows, blocks(state.conv_channels, kBlock));
  launch("conv1d_update", conv_kernel, tiles, kBlock, 0, stream, step, u, w, state, out);
  if (state.conv_kernel > 1)
    launch("conv1d_update: keep", keep_inputs_kernel, tiles, kBlock, 0, stream, step, u, state);
}

void gdn_gates(cudaStream_t stream, const float* a, const float* b, int64_t rows, int64_t value_heads,
               const float* a_log, const float* dt_bias, float* g, float* beta) {
  const int64_t count = rows * value_heads;
  launch("gdn_gates", gdn_gates_kernel, grid(blocks(count, kBlock), 1), kBlock, 0, stream, a, b, count,
         value_heads, a_log, dt_bias, g, beta);
}

void gated_delta_rule(cudaStream_t stream, const StepView& step, const float* qkv, const float* g,
                      const float* beta, const SlotView& state, float* out) {
  const int64_t shared_bytes = (kChunkSize + 1) * state.key_dim * static_cast<int64_t>(sizeof(float));
  check(cudaFuncSetAttribute(delta_rule_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "gated_delta_rule: shared memory for the keys of a chunk");
  launch("gated_delta_rule", delta_rule_kernel, grid(step.span_count, state.value_heads), kBlock,
         shared_bytes, stream, step, qkv, g, beta, state, out);
  launch("gated_delta_rule: keep", keep_keys_kernel, grid(step.rows, state.key_heads), kWarp, 0, stream, step,
         qkv, state);
}

}  // namespace tercet::cuda
