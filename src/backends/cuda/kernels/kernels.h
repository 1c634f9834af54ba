#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backends/cuda/kernels/views.h"

/// The launchers: each starts the kernels of one primitive on `stream` and returns. Semantics are
/// ops/backend.h's; shapes are checked there. All sums over a row have an order that depends on its width
/// alone.
namespace tercet::cuda {

// linear.cu
void embed(cudaStream_t stream, const int32_t* ids, int64_t count, const MatrixView* table,
           int64_t table_rows, int64_t cols, float* out);
void linear(cudaStream_t stream, const float* x, int64_t rows, const MatrixView* w, int64_t outputs,
            float* out);
/// hidden [rows * top_k, width] is scratch.
void moe_ffn(cudaStream_t stream, const float* x, int64_t rows, const int32_t* index, const float* weight,
             int64_t top_k, const MatrixView* gate, const MatrixView* up, const MatrixView* down,
             int64_t width, int64_t outputs, float* hidden, float* out);

// rows.cu
void rms_norm(cudaStream_t stream, const float* x, int64_t rows, int64_t cols, const float* w, float eps,
              bool offset, float* out);
void gated_rms_norm(cudaStream_t stream, const float* x, const float* z, int64_t heads, int64_t head_dim,
                    const float* w, float eps, float* out);
void sigmoid_gate(cudaStream_t stream, float* x, int64_t rows, int64_t cols, const float* gate,
                  int64_t gate_cols);
void silu_mul(cudaStream_t stream, const float* gate, const float* up, int64_t count, float* out);
void add(cudaStream_t stream, float* x, const float* y, int64_t count);
void gather_rows(cudaStream_t stream, const float* x, const int32_t* rows, int64_t count, int64_t cols,
                 float* out);
void router_topk(cudaStream_t stream, const float* logits, int64_t rows, int64_t experts, int64_t top_k,
                 int32_t* index, float* weight);
void quantize_activations(cudaStream_t stream, const float* x, int64_t rows, int64_t cols, int64_t group,
                          int8_t* codes, float* scales);
void accumulate_products(cudaStream_t stream, const float* x, const float* y, int64_t rows, int64_t cols,
                         float scale, float* out);

// attention.cu
void qk_norm_rope(cudaStream_t stream, const StepView& step, const float* qg, float* k, int64_t heads,
                  int64_t kv_heads, int64_t head_dim, const float* q_norm, const float* k_norm,
                  const float* inverse_frequencies, int64_t frequencies, float eps, float* q_out,
                  float* gate_out);
void kv_append(cudaStream_t stream, const StepView& step, const float* k, const float* v,
               const KvView& cache);
void attention(cudaStream_t stream, const StepView& step, const float* q, int64_t heads, const KvView& cache,
               float* out);

// delta_rule.cu
void conv1d_update(cudaStream_t stream, const StepView& step, const float* u, const float* w,
                   const SlotView& state, float* out);
void gdn_gates(cudaStream_t stream, const float* a, const float* b, int64_t rows, int64_t value_heads,
               const float* a_log, const float* dt_bias, float* g, float* beta);
void gated_delta_rule(cudaStream_t stream, const StepView& step, const float* qkv, const float* g,
                      const float* beta, const SlotView& state, float* out);

// sample.cu
/// One row's request as ops/sampling.h has it, its random number drawn.
struct DrawParams {
  float temperature;
  float top_p;
  float min_p;
  float presence_penalty;
  float repetition_penalty;
  int64_t keep;    // the most candidates: top_k, or all
  double uniform;  // in [0, 1)
};
/// Device scratch of one row's draw.
struct SampleScratch {
  float* logits;         // [vocab]
  int32_t* ids;          // [vocab]
  float* sorted_logits;  // [vocab]
  int32_t* sorted_ids;   // [vocab]
  double* weights;       // [vocab]
  void* sort;            // sort_bytes
  int64_t sort_bytes;
};
/// Bytes that sorting `vocab` candidates needs.
int64_t sort_scratch_bytes(int64_t vocab);
/// `seen` [vocab]: bit 0 where the repetition penalty looks, bit 1 where the presence penalty does; null: no
/// penalties.
void sample(cudaStream_t stream, const float* logits, int64_t vocab, const uint8_t* seen,
            const DrawParams& params, const SampleScratch& scratch, int32_t* token);

}  // namespace tercet::cuda
