#pragma once

#include <vector>

#include "backends/ref/ref.h"

namespace tercet::ref {

/// One matrix as the reference multiplies by it.
struct Matrix {
  std::vector<float> values;     // [rows, cols], dequantized
  QuantizedMatrix quantized;     // for the int8 way; no codes: not quantized, or exact
  std::vector<int32_t> order;    // [cols] columns sorted by group, for the int8 way
  int64_t activation_group = 0;  // columns of `order` that share an activation scale; 0: fp32 activations
};

struct RefWeight final : PreparedWeight {
  std::vector<Matrix> matrices;
};

/// Offsets of one GDN layer's parts in a slot, in floats; see StateShape::slot_floats.
struct SlotView {
  float* state;      // [value_heads, key_dim, value_dim] at the start of the open chunk
  float* keys;       // [kChunkSize, key_heads, key_dim] of the open chunk, normalized
  float* corrected;  // [kChunkSize, value_heads, value_dim] of the open chunk
  float* decay;      // [kChunkSize, value_heads] summed log decays of the open chunk
  float* window;     // [conv_kernel - 1, conv_channels] raw inputs by position modulo conv_kernel - 1
};

struct RefState final : State {
  std::vector<float> page_data;  // [pages, attention_layers, key | value, kPageSize, kv_heads, head_dim]
  std::vector<float> slot_data;  // [slots, gdn_layers, parts of SlotView]

  float* key(int64_t page, int64_t layer) { return page_data.data() + page_offset(page, layer); }
  float* value(int64_t page, int64_t layer) { return key(page, layer) + page_part(); }
  const float* key(int64_t page, int64_t layer) const { return page_data.data() + page_offset(page, layer); }
  const float* value(int64_t page, int64_t layer) const { return key(page, layer) + page_part(); }
  SlotView slot(int64_t slot, int64_t layer);

 private:
  int64_t page_part() const { return kPageSize * shape.kv_heads * shape.head_dim; }
  int64_t page_offset(int64_t page, int64_t layer) const {
    return page * shape.page_floats() + layer * 2 * page_part();
  }
};

/// y [rows of the matrix] = matrix x, one row.
void multiply(const Matrix& matrix, int64_t rows, int64_t cols, const float* x, float* y);

float sigmoid(float x);
float silu(float x);

class RefBackend final : public Backend {
 public:
  explicit RefBackend(const BackendOptions& options) : exact_(options.exact) {}

  std::string description() const override { return exact_ ? "ref (exact)" : "ref"; }
  Buffer allocate(int64_t bytes) override;
  void upload(void* destination, const void* source, int64_t bytes) override;
  void download(void* destination, const void* source, int64_t bytes) override;
  void synchronize() override {}
  std::unique_ptr<State> create_state(const StateShape& shape, int64_t pages, int64_t slots) override;
  void copy_slot(State& state, int64_t from, int64_t to) override;
  void copy_page(State& state, int64_t from, int64_t to) override;
  void plan(const StepLimits& limits) override { limits_ = limits; }
  TensorView tokens() override;
  TensorView logit_rows() override;

 protected:
  Weight do_prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) override;
  void do_begin_step(const Step& step) override { step_ = step; }
  void do_embed(const TensorView& ids, const PreparedWeight& table, TensorView out) override;
  void do_rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset, TensorView out) override;
  void do_linear(const TensorView& x, const PreparedWeight& w, TensorView out) override;
  void do_qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm, const TensorView& k_norm,
                       const TensorView& inverse_frequencies, float eps, TensorView q_out,
                       TensorView gate_out) override;
  void do_kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer) override;
  void do_attention(const TensorView& q, const State& state, int64_t layer, TensorView out) override;
  void do_sigmoid_gate(TensorView x, const TensorView& gate) override;
  void do_conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer,
                        TensorView out) override;
  void do_gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log,
                    const TensorView& dt_bias, TensorView g, TensorView beta) override;
  void do_gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta, State& state,
                           int64_t layer, TensorView out) override;
  void do_gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                         TensorView out) override;
  void do_silu_mul(const TensorView& gate, const TensorView& up, TensorView out) override;
  void do_router_topk(const TensorView& logits, TensorView index, TensorView weight) override;
  void do_moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight,
                  const PreparedWeight& gate, const PreparedWeight& up, const PreparedWeight& down,
                  TensorView out) override;
  void do_add(TensorView x, const TensorView& y) override;
  void do_gather_rows(const TensorView& x, const TensorView& rows, TensorView out) override;
  void do_sample(const TensorView& logits, const SamplingBatch& batch, TensorView token) override;
  void do_quantize_activations(const TensorView& x, int64_t group, TensorView codes,
                               TensorView scales) override;
  void do_accumulate_products(const TensorView& x, const TensorView& y, float scale, TensorView out) override;

 private:
  int64_t position_of(const SequenceSpan& span, int64_t row) const {
    return span.position + row - span.first_row;
  }
  int64_t page_of(const SequenceSpan& span, int64_t position) const {
    return step_.pages[static_cast<size_t>(span.first_page + position / kPageSize)];
  }

  bool exact_;
  Step step_;
};

}  // namespace tercet::ref
