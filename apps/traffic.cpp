#include "traffic.h"

#include <algorithm>

namespace tercet {
namespace {

int64_t bytes_of(const Constant& constant) {
  return constant.view.bytes();
}

int64_t bytes_of(const MlpWeights& mlp) {
  return mlp.gate_proj->bytes + mlp.up_proj->bytes + mlp.down_proj->bytes;
}

int64_t bytes_of(const GatedAttentionWeights& w) {
  return w.q_proj->bytes + w.k_proj->bytes + w.v_proj->bytes + w.o_proj->bytes + bytes_of(w.q_norm) +
         bytes_of(w.k_norm);
}

int64_t bytes_of(const GatedDeltaNetWeights& w) {
  return w.in_proj_qkv->bytes + w.in_proj_z->bytes + w.in_proj_b->bytes + w.in_proj_a->bytes +
         w.out_proj->bytes + bytes_of(w.conv1d) + bytes_of(w.a_log) + bytes_of(w.dt_bias) + bytes_of(w.norm);
}

/// Without the routed experts.
int64_t dense_bytes(const LayerWeights& layer) {
  int64_t bytes = bytes_of(layer.input_layernorm) + bytes_of(layer.post_attention_layernorm);
  bytes += std::visit([](const auto& mixer) { return bytes_of(mixer); }, layer.mixer);
  if (const auto* moe = std::get_if<MoeWeights>(&layer.ffn)) {
    return bytes + moe->router->bytes + bytes_of(moe->shared_expert) + moe->shared_expert_gate->bytes;
  }
  return bytes + bytes_of(std::get<MlpWeights>(layer.ffn));
}

}  // namespace

Traffic::Traffic(Model& model) : model_(model) {
  const ModelWeights& weights = model.weights();
  dense_bytes_ = bytes_of(weights.norm) + weights.lm_head->bytes;
  model_bytes_ = weights.lm_head == weights.embed_tokens ? 0 : weights.embed_tokens->bytes;
  for (const LayerWeights& layer : weights.layers) {
    dense_bytes_ += dense_bytes(layer);
    if (const auto* moe = std::get_if<MoeWeights>(&layer.ffn)) model_bytes_ += bytes_of(moe->experts);
  }
  model_bytes_ += dense_bytes_;
}

void Traffic::observe(Tap tap, int64_t layer, const TensorView& value) {
  if (tap != Tap::kRouting) return;
  index_.resize(static_cast<size_t>(value.count()));
  model_.backend().download(index_.data(), value.data, value.bytes());
  std::sort(index_.begin(), index_.end());
  const auto distinct = std::unique(index_.begin(), index_.end()) - index_.begin();
  const auto& moe = std::get<MoeWeights>(model_.weights().layers[static_cast<size_t>(layer)].ffn);
  expert_bytes_ += static_cast<double>(bytes_of(moe.experts)) * static_cast<double>(distinct) /
                   static_cast<double>(moe.experts.gate_proj->count);
}

double Traffic::take_weight_bytes() {
  const double bytes = static_cast<double>(dense_bytes_) + expert_bytes_;
  expert_bytes_ = 0;
  return bytes;
}

double Traffic::state_bytes(int64_t position) const {
  const StateShape shape = state_shape(model_.config(), false);
  const double kept_rows =
      static_cast<double>(kChunkSize * shape.gdn_layers *
                          (shape.key_heads * shape.key_dim + shape.value_heads * shape.value_dim));
  const double keys_values = static_cast<double>(shape.page_floats() / kPageSize * position);
  // Of the open chunk's rows, half are there on average.
  return 4.0 * (keys_values + static_cast<double>(shape.slot_floats()) - kept_rows / 2);
}

}  // namespace tercet
