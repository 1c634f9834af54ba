#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/matrix.h"
#include "ops/sampling.h"
#include "ops/step.h"
#include "ops/tensor.h"

namespace tercet {

/// A stack of `count` matrices [rows, cols] of one shape in whatever layout the backend's kernels want: one
/// matrix, or the same projection of every expert of a layer.
class PreparedWeight {
 public:
  virtual ~PreparedWeight() = default;

  int64_t count = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t bytes = 0;   // of all matrices, as the backend holds them
  std::string kernel;  // what multiplies by it, and why: for --explain

  int64_t bytes_per_matrix() const { return bytes / count; }
};
using Weight = std::shared_ptr<const PreparedWeight>;

/// Memory of a backend; frees itself. 64-byte aligned, zeroed.
using Buffer = std::shared_ptr<void>;

/// Paged keys and values, and recurrent slots, in a backend's memory, named by small integers. A position's
/// state is a function of its sequence's earlier tokens alone: what a page or slot held before position 0 is
/// never read.
class State {
 public:
  virtual ~State() = default;

  StateShape shape;
  int64_t pages = 0;
  int64_t slots = 0;

  int64_t bytes() const { return 4 * (pages * shape.page_floats() + slots * shape.slot_floats()); }
};

struct BackendOptions {
  int threads = 0;     // 0: all cores
  bool exact = false;  // products with quantized weights keep fp32 activations
  int device = 0;      // CUDA device
};

/// Seeded random quantized matrices, made straight in the prepared layout: for speed measurements only.
struct SyntheticSpec {
  int64_t count = 1;
  int64_t rows = 0;
  int64_t cols = 0;
  int bits = 16;  // 16: BF16; else symmetric codes with fp16 scales
  int64_t group_size = 128;
  uint64_t seed = 0;
};

/// The op interface: what every backend computes. Semantic operations over a ragged step. Public functions
/// check shapes once and call the backend; nothing here returns a computed value to the host, and no op
/// allocates. Calls run in order.
///
/// Batch invariance: a row's result depends on its sequence's tokens and its position alone, to the last bit:
/// not on the other rows of the step, nor on how its prompt was cut into steps.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "ref", "simd (avx512)", "cuda (NVIDIA H200)".
  virtual std::string description() const = 0;

  // Memory.
  virtual Buffer allocate(int64_t bytes) = 0;
  virtual void upload(void* destination, const void* source, int64_t bytes) = 0;
  /// Waits for all ops before it.
  virtual void download(void* destination, const void* source, int64_t bytes) = 0;
  virtual void synchronize() = 0;

  // Weights. `matrix(i)` is asked once for each i; its views need to live only until the next call.
  Weight prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix);
  /// By default made as canonical matrices and prepared.
  virtual Weight prepare_synthetic(const SyntheticSpec& spec);

  // State.
  virtual std::unique_ptr<State> create_state(const StateShape& shape, int64_t pages, int64_t slots) = 0;
  /// Forks or snapshots a sequence's recurrent part: slot `from` into slot `to`.
  virtual void copy_slot(State& state, int64_t from, int64_t to) = 0;
  virtual void copy_page(State& state, int64_t from, int64_t to) = 0;

  /// Asks for all scratch that any op may need in a step within `limits`. Once, before the first step.
  virtual void plan(const StepLimits& limits) = 0;

  /// Uploads the description of the step that the following ops belong to, after checking it against the
  /// plan.
  void begin_step(const Step& step);
  /// The step's token ids, I32 [rows, 1], and the rows that want logits, I32 [n, 1], in backend memory.
  virtual TensorView tokens() = 0;
  virtual TensorView logit_rows() = 0;

  // Primitives. T rows of the step; x, y, out are F32 [T, .] unless said otherwise; out may not alias an
  // input.

  /// out[t] = table row ids[t]; ids I32 [T, 1].
  void embed(const TensorView& ids, const Weight& table, TensorView out);
  /// out = x / rms(x) * w, or * (1 + w) where `offset`; rms over each row; w [1, cols]; fp32 throughout.
  void rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset, TensorView out);
  /// out[t][n] = sum_k W[n][k] x[t][k]; a stack of one matrix.
  void linear(const TensorView& x, const Weight& w, TensorView out);
  /// Splits qg [T, heads * 2 * head_dim], per head query then gate; normalizes each query and key head (1 +
  /// w) and rotates its first 2 * inverse_frequencies.cols dimensions (pairs i and i + half; angle = position
  /// * frequency in fp32). q_out and gate_out [T, heads * head_dim]; k [T, kv_heads * head_dim] in place;
  /// q_norm, k_norm [1, head_dim].
  void qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm, const TensorView& k_norm,
                    const TensorView& inverse_frequencies, float eps, TensorView q_out, TensorView gate_out);
  /// Writes k and v [T, kv_heads * head_dim] to their positions' pages of attention layer `layer`.
  void kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer);
  /// Causal grouped-query attention over the pages: softmax(q k^T head_dim^-1/2) v; q and out [T, heads *
  /// head_dim]. Keys are taken page by page from position 0.
  void attention(const TensorView& q, const State& state, int64_t layer, TensorView out);
  /// x *= sigmoid(gate); gate [T, cols], or [T, 1] for a whole row.
  void sigmoid_gate(TensorView x, const TensorView& gate);
  /// Depthwise causal convolution over positions, then SiLU: out_t[c] = silu(sum_j w[c][j] u_(t - kernel + 1
  /// + j)[c]); inputs before position 0 are zero. u and out [T, channels], w [channels, kernel]. Keeps the
  /// last kernel - 1 rows of u in the slot.
  void conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer, TensorView out);
  /// g = -exp(a_log) * softplus(a + dt_bias), beta = sigmoid(b); a, b, g, beta [T, value_heads]; a_log,
  /// dt_bias [1, value_heads].
  void gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log, const TensorView& dt_bias,
                 TensorView g, TensorView beta);
  /// The gated delta rule (Yang et al., arXiv 2412.06464) in chunks of kChunkSize positions. qkv [T,
  /// conv_channels] holds q | k | v by heads; q and k are L2-normalized here (x rsqrt(sum x^2 + 1e-6)), q
  /// scaled by key_dim^-1/2; value head h uses key head h / (value_heads / key_heads). out [T, value_heads *
  /// value_dim]. For row i of a chunk with start state S and summed log decays G (up to and with i):
  ///   n_i = beta_i (v_i - e^{G_i} S^T k_i - sum_{j<i} e^{G_i - G_j} (k_i . k_j) n_j)
  ///   o_i = e^{G_i} S^T q_i + sum_{j<=i} e^{G_i - G_j} (q_i . k_j) n_j
  /// and after the chunk's last position S <- e^{G_C} S + sum_j e^{G_C - G_j} k_j n_j^T.
  void gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta, State& state,
                        int64_t layer, TensorView out);
  /// out = (x / rms(x) * w) * silu(z), per head of w.cols; x, z, out [T, heads * w.cols].
  void gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                      TensorView out);
  /// out = silu(gate) * up.
  void silu_mul(const TensorView& gate, const TensorView& up, TensorView out);
  /// The top_k = index.cols largest of softmax(logits), ties to the lower index, weights renormalized to
  /// sum 1. logits [T, experts]; index I32 [T, top_k] in falling order of weight; weight [T, top_k].
  void router_topk(const TensorView& logits, TensorView index, TensorView weight);
  /// out[t] = sum_j weight[t][j] down_e(silu(gate_e x_t) * up_e x_t), e = index[t][j], summed in the order of
  /// j. Stacks of all experts: gate, up [width, hidden], down [hidden, width].
  void moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight, const Weight& gate,
               const Weight& up, const Weight& down, TensorView out);
  /// x += y.
  void add(TensorView x, const TensorView& y);
  /// out[i] = x[rows[i]]; rows I32 [n, 1].
  void gather_rows(const TensorView& x, const TensorView& rows, TensorView out);
  /// Draws a token for each row of logits [n, vocab] by params[i] with its own counter-based random number;
  /// `history` holds, for each row, the token counts that penalties look at. token I32 [n, 1]. See
  /// ops/sampling.h for the rule.
  void sample(const TensorView& logits, const SamplingBatch& batch, TensorView token);
  /// Groups of `group` columns share scale = max|x| / 127; codes = round_half_even(x / scale), as fp32
  /// division; codes I8 [T, cols], scales [T, ceil(cols / group)]; an all-zero group has scale 0 and codes 0.
  void quantize_activations(const TensorView& x, int64_t group, TensorView codes, TensorView scales);
  /// Calibration sums: out[i][j] += sum_t scale * x[t][i] y[t][j], rows in order; x [T, K], y [T, K], out [K,
  /// K].
  void accumulate_products(const TensorView& x, const TensorView& y, float scale, TensorView out);

 protected:
  virtual Weight do_prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) = 0;
  virtual void do_begin_step(const Step& step) = 0;
  virtual void do_embed(const TensorView& ids, const PreparedWeight& table, TensorView out) = 0;
  virtual void do_rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset,
                           TensorView out) = 0;
  virtual void do_linear(const TensorView& x, const PreparedWeight& w, TensorView out) = 0;
  virtual void do_qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm,
                               const TensorView& k_norm, const TensorView& inverse_frequencies, float eps,
                               TensorView q_out, TensorView gate_out) = 0;
  virtual void do_kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer) = 0;
  virtual void do_attention(const TensorView& q, const State& state, int64_t layer, TensorView out) = 0;
  virtual void do_sigmoid_gate(TensorView x, const TensorView& gate) = 0;
  virtual void do_conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer,
                                TensorView out) = 0;
  virtual void do_gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log,
                            const TensorView& dt_bias, TensorView g, TensorView beta) = 0;
  virtual void do_gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta,
                                   State& state, int64_t layer, TensorView out) = 0;
  virtual void do_gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                                 TensorView out) = 0;
  virtual void do_silu_mul(const TensorView& gate, const TensorView& up, TensorView out) = 0;
  virtual void do_router_topk(const TensorView& logits, TensorView index, TensorView weight) = 0;
  virtual void do_moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight,
                          const PreparedWeight& gate, const PreparedWeight& up, const PreparedWeight& down,
                          TensorView out) = 0;
  virtual void do_add(TensorView x, const TensorView& y) = 0;
  virtual void do_gather_rows(const TensorView& x, const TensorView& rows, TensorView out) = 0;
  virtual void do_sample(const TensorView& logits, const SamplingBatch& batch, TensorView token) = 0;
  virtual void do_quantize_activations(const TensorView& x, int64_t group, TensorView codes,
                                       TensorView scales) = 0;
  virtual void do_accumulate_products(const TensorView& x, const TensorView& y, float scale,
                                      TensorView out) = 0;

  /// What begin_step checks against.
  StepLimits limits_;

 private:
  void expect_pages(const State& state, int64_t layer) const;
  void expect_slots(const State& state, int64_t layer) const;

  int64_t pages_named_ = 0;  // one more than the largest page and slot that the current step names
  int64_t slots_named_ = 0;
};

/// The columns of `matrix` sorted by group, in their own order inside a group: where groups are consecutive.
std::vector<int32_t> column_order(const QuantizedMatrix& matrix);

/// How many columns of `column_order` share an activation scale in int8 products: 128, or the weight's group
/// of 32 or 64. Zero where int8 products are not defined (other groups, or groups of unequal size): such
/// weights are multiplied exactly.
int64_t activation_group(const QuantizedMatrix& matrix);

}  // namespace tercet
