#pragma once

#include <vector>

#include "backends/simd/kernels.h"
#include "backends/simd/scratch.h"
#include "backends/simd/simd.h"
#include "backends/simd/weights.h"
#include "base/thread_pool.h"

namespace tercet::simd {

static_assert(kKernelPage == kPageSize && kKernelPage == kChunkSize);

/// One GDN layer's parts of a slot; see StateShape::slot_floats.
struct SlotView {
  float* state;      // [value_heads, key_dim, value_dim] at the start of the open chunk
  float* keys;       // [key_heads, key_dim, kChunkSize] of the open chunk, normalized
  float* corrected;  // [value_heads, kChunkSize, value_dim] of the open chunk
  float* decay;      // [value_heads, kChunkSize] summed log decays of the open chunk
  float* window;     // [conv_kernel - 1, conv_channels] raw inputs by position modulo conv_kernel - 1
};

struct SimdState final : State {
  Buffer page_memory;    // [pages, attention_layers, kv_heads, keys [head_dim, 64] | values [64, head_dim]]
  Buffer slot_memory;    // [slots, gdn_layers, parts of SlotView]
  Buffer delta_scratch;  // [threads, delta_floats]
  int64_t delta_floats = 0;

  float* page(int64_t page) const {
    return static_cast<float*>(page_memory.get()) + page * shape.page_floats();
  }
  /// Keys and values of a layer and KV head, from its page's start.
  int64_t head_offset(int64_t layer, int64_t kv_head) const {
    return (layer * shape.kv_heads + kv_head) * 2 * kPageSize * shape.head_dim;
  }
  float* slot(int64_t slot) const {
    return static_cast<float*>(slot_memory.get()) + slot * shape.slot_floats();
  }
  SlotView slot_layer(int64_t slot, int64_t layer) const;
};

class SimdBackend final : public Backend {
 public:
  SimdBackend(const BackendOptions& options, const Kernels& kernels);

  std::string description() const override;
  Buffer allocate(int64_t bytes) override;
  void upload(void* destination, const void* source, int64_t bytes) override;
  void download(void* destination, const void* source, int64_t bytes) override;
  void synchronize() override {}
  Weight prepare_synthetic(const SyntheticSpec& spec) override;
  std::unique_ptr<State> create_state(const StateShape& shape, int64_t pages, int64_t slots) override;
  void copy_slot(State& state, int64_t from, int64_t to) override;
  void copy_page(State& state, int64_t from, int64_t to) override;
  void plan(const StepLimits& limits) override;
  TensorView tokens() override;
  TensorView logit_rows() override;

 protected:
  Weight do_prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) override;
  void do_begin_step(const Step& step) override;
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
  struct RowBlock {  // rows of one attention job
    int64_t sequence;
    int64_t first_row;
    int64_t rows;
  };

  ThreadScratch& thread_scratch(int thread) { return threads_[static_cast<size_t>(thread)]; }
  /// Calls fn(begin, end, thread) as ThreadPool does, but for the caller alone where all of it is too little
  /// `work`, in multiply-adds, to share: waking threads, or only meeting them, takes microseconds.
  template <class Fn>
  void share(int64_t items, int64_t work, const Fn& fn);
  /// Calls fn(row, thread) for all rows of so many elements, each some arithmetic and little more.
  template <class Fn>
  void for_rows(int64_t rows, int64_t elements, const Fn& fn);
  /// Packs the sorted rows' inputs for every expert; row(s) is the input of sorted row s.
  template <class RowOf>
  void pack_experts(ActivationScratch& scratch, const SimdWeight& weight, const RowOf& row);
  /// hidden_ = silu(gate x) * (up x) for all `slots` sorted rows.
  void expert_hidden(const SimdWeight& gate, const SimdWeight& up, const ActivationScratch& up_inputs,
                     int64_t slots);
  /// out = sum of the experts' down products of hidden_.
  void expert_output(const SimdWeight& down, const TensorView& weight, TensorView out);

  const Kernels& kernels_;
  bool exact_;
  ThreadPool pool_;
  std::vector<ThreadScratch> threads_;
  ActivationScratch inputs_;
  ActivationScratch other_inputs_;  // of up, where it wants others than gate
  ExpertRows experts_;
  Buffer hidden_;          // [rows * top_k, expert_width]
  Buffer up_;              // likewise
  Buffer expert_outputs_;  // [threads, expert_output_floats_]
  int64_t expert_output_floats_ = 0;
  Step step_;
  std::vector<int64_t> positions_;  // of each row
  std::vector<int64_t> sequences_;  // of each row
  std::vector<RowBlock> row_blocks_;
  int64_t attended_ = 0;  // keys that the step's rows see, about
};

template <class Fn>
void SimdBackend::share(int64_t items, int64_t work, const Fn& fn) {
  constexpr int64_t kWorthSharing = 262144;  // some five microseconds of one core
  if (work >= kWorthSharing) return pool_.parallel_for(items, fn);
  if (items > 0) fn(int64_t{0}, items, 0);
}

template <class Fn>
void SimdBackend::for_rows(int64_t rows, int64_t elements, const Fn& fn) {
  constexpr int64_t kWorkOfElement = 16;
  share(rows, rows * elements * kWorkOfElement, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t t = begin; t < end; ++t) fn(t, thread);
  });
}

}  // namespace tercet::simd
