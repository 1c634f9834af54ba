#include <cmath>

#include "model/model.h"

namespace tercet {
namespace {

float eps(const StepContext& context) {
  return static_cast<float>(context.config.rms_norm_eps);
}

void tell(const StepContext& context, Tap tap, int64_t layer, const TensorView& value) {
  if (context.observer != nullptr) context.observer->observe(tap, layer, value);
}

/// normed -> branch: grouped-query attention over the cache, its output gated by sigmoid of a second query
/// projection.
void gated_attention(StepContext& context, const GatedAttentionWeights& weights, int64_t layer,
                     int64_t state_layer) {
  Backend& ops = context.backend;
  Workspace& ws = context.workspace;
  const auto cut = [&](const TensorView& view) { return view.first_rows(context.rows); };
  const TensorView x = cut(ws.normed);
  ops.linear(x, weights.q_proj, cut(ws.query_gate));
  ops.linear(x, weights.k_proj, cut(ws.key));
  ops.linear(x, weights.v_proj, cut(ws.value));
  ops.qk_norm_rope(cut(ws.query_gate), cut(ws.key), weights.q_norm.view, weights.k_norm.view,
                   context.inverse_frequencies.view, eps(context), cut(ws.query), cut(ws.gate));
  ops.kv_append(cut(ws.key), cut(ws.value), context.state, state_layer);
  ops.attention(cut(ws.query), context.state, state_layer, cut(ws.attended));
  ops.sigmoid_gate(cut(ws.attended), cut(ws.gate));
  tell(context, Tap::kMixerOutput, layer, cut(ws.attended));
  ops.linear(cut(ws.attended), weights.o_proj, cut(ws.branch));
}

/// normed -> branch: short convolution, gated delta rule, gated norm (Yang et al., arXiv 2412.06464).
void gated_delta_net(StepContext& context, const GatedDeltaNetWeights& weights, int64_t layer,
                     int64_t state_layer) {
  Backend& ops = context.backend;
  Workspace& ws = context.workspace;
  const auto cut = [&](const TensorView& view) { return view.first_rows(context.rows); };
  const TensorView x = cut(ws.normed);
  ops.linear(x, weights.in_proj_qkv, cut(ws.qkv));
  ops.linear(x, weights.in_proj_z, cut(ws.z));
  ops.linear(x, weights.in_proj_b, cut(ws.b));
  ops.linear(x, weights.in_proj_a, cut(ws.a));
  ops.conv1d_update(cut(ws.qkv), weights.conv1d.view, context.state, state_layer, cut(ws.convolved));
  ops.gdn_gates(cut(ws.a), cut(ws.b), weights.a_log.view, weights.dt_bias.view, cut(ws.decay), cut(ws.beta));
  ops.gated_delta_rule(cut(ws.convolved), cut(ws.decay), cut(ws.beta), context.state, state_layer,
                       cut(ws.delta));
  ops.gated_rms_norm(cut(ws.delta), cut(ws.z), weights.norm.view, eps(context), cut(ws.gated));
  tell(context, Tap::kMixerOutput, layer, cut(ws.gated));
  ops.linear(cut(ws.gated), weights.out_proj, cut(ws.branch));
}

/// normed -> out: down(silu(gate x) * up x).
void mlp(StepContext& context, const MlpWeights& weights, TensorView out) {
  Backend& ops = context.backend;
  Workspace& ws = context.workspace;
  const auto cut = [&](const TensorView& view) { return view.first_rows(context.rows); };
  ops.linear(cut(ws.normed), weights.gate_proj, cut(ws.mlp_gate));
  ops.linear(cut(ws.normed), weights.up_proj, cut(ws.mlp_up));
  ops.silu_mul(cut(ws.mlp_gate), cut(ws.mlp_up), cut(ws.mlp_act));
  ops.linear(cut(ws.mlp_act), weights.down_proj, out);
}

/// normed -> branch: the routed experts' weighted sum plus the gated shared expert.
void mixture_of_experts(StepContext& context, const MoeWeights& weights, int64_t layer) {
  Backend& ops = context.backend;
  Workspace& ws = context.workspace;
  const auto cut = [&](const TensorView& view) { return view.first_rows(context.rows); };
  const TensorView x = cut(ws.normed);
  ops.linear(x, weights.router, cut(ws.router_logits));
  ops.router_topk(cut(ws.router_logits), cut(ws.expert_index), cut(ws.expert_weight));
  tell(context, Tap::kRouting, layer, cut(ws.expert_index));
  const MlpWeights& experts = weights.experts;
  ops.moe_ffn(x, cut(ws.expert_index), cut(ws.expert_weight), experts.gate_proj, experts.up_proj,
              experts.down_proj, cut(ws.branch));
  mlp(context, weights.shared_expert, cut(ws.shared));
  ops.linear(x, weights.shared_expert_gate, cut(ws.shared_gate));
  ops.sigmoid_gate(cut(ws.shared), cut(ws.shared_gate));
  ops.add(cut(ws.branch), cut(ws.shared));
}

}  // namespace

Constant rope_frequencies(Backend& backend, const ModelConfig& config) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < config.rotary_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.rotary_dim);
    frequencies.push_back(static_cast<float>(std::pow(config.rope_theta, -exponent)));
  }
  return make_constant(backend, frequencies, 1, config.rotary_dim / 2);
}

void add_mixer(StepContext& context, const LayerWeights& weights, int64_t layer, int64_t state_layer) {
  Backend& ops = context.backend;
  Workspace& ws = context.workspace;
  const auto cut = [&](const TensorView& view) { return view.first_rows(context.rows); };
  ops.rms_norm(cut(ws.hidden), weights.input_layernorm.view, eps(context), true, cut(ws.normed));
  tell(context, Tap::kMixerInput, layer, cut(ws.normed));
  if (const auto* attention = std::get_if<GatedAttentionWeights>(&weights.mixer)) {
    gated_attention(context, *attention, layer, state_layer);
  } else {
    gated_delta_net(context, std::get<GatedDeltaNetWeights>(weights.mixer), layer, state_layer);
  }
  ops.add(cut(ws.hidden), cut(ws.branch));
}

void add_ffn(StepContext& context, const LayerWeights& weights, int64_t layer) {
  Backend& ops = context.backend;
  Workspace& ws = context.workspace;
  const auto cut = [&](const TensorView& view) { return view.first_rows(context.rows); };
  ops.rms_norm(cut(ws.hidden), weights.post_attention_layernorm.view, eps(context), true, cut(ws.normed));
  tell(context, Tap::kFfnInput, layer, cut(ws.normed));
  if (const auto* moe = std::get_if<MoeWeights>(&weights.ffn)) {
    mixture_of_experts(context, *moe, layer);
  } else {
    mlp(context, std::get<MlpWeights>(weights.ffn), cut(ws.branch));
  }
  ops.add(cut(ws.hidden), cut(ws.branch));
  tell(context, Tap::kLayerOutput, layer, cut(ws.hidden));
}

void decoder_layer(StepContext& context, const LayerWeights& weights, int64_t layer, int64_t state_layer) {
  add_mixer(context, weights, layer, state_layer);
  add_ffn(context, weights, layer);
}

}  // namespace tercet
