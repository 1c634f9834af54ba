#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/step_buffer.h"
#include "ops/backend.h"

namespace tercet::cuda {

/// Each primitive as its plain kernels on one stream of one device.
class CudaBackend final : public Backend {
 public:
  /// `device` must be there.
  explicit CudaBackend(int device);

  std::string description() const override;
  Buffer allocate(int64_t bytes) override;
  void upload(void* destination, const void* source, int64_t bytes) override;
  void download(void* destination, const void* source, int64_t bytes) override;
  void synchronize() override;
  std::unique_ptr<State> create_state(const StateShape& shape, int64_t pages, int64_t slots) override;
  void copy_slot(State& state, int64_t from, int64_t to) override;
  void copy_page(State& state, int64_t from, int64_t to) override;
  void plan(const StepLimits& limits) override;
  TensorView tokens() override;
  TensorView logit_rows() override;

  /// The stream, with the backend's device made the calling thread's.
  cudaStream_t stream() const;

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
  const StepView& step() const;
  void plan_sampling(int64_t vocab);
  const uint8_t* upload_seen(const SamplingRow& row, int64_t vocab, cudaStream_t stream);

  int device_;
  Stream stream_;
  std::unique_ptr<StepBuffer> step_;
  DeviceMemory expert_hidden_;  // F32 [rows * top_k, expert_width]
  DeviceMemory sample_memory_;
  SampleScratch sample_scratch_ = {};
  std::vector<uint8_t> seen_;  // [vocab], of one row
  uint8_t* seen_on_device_ = nullptr;
};

}  // namespace tercet::cuda
