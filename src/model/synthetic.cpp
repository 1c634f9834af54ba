#include "model/synthetic.h"

namespace tercet {
namespace {

class Maker {
 public:
  Maker(Backend& backend, const ModelConfig& config, int bits, uint64_t seed)
      : backend_(backend), config_(config), bits_(bits), seed_(seed) {}

  /// BF16 whatever the format.
  Weight kept(int64_t rows, int64_t cols) { return stack(1, rows, cols, 16); }
  Weight linear(int64_t rows, int64_t cols) { return stack(1, rows, cols, bits_); }
  Constant filled(float value, int64_t rows, int64_t cols) {
    return make_constant(backend_, std::vector<float>(static_cast<size_t>(rows * cols), value), rows, cols);
  }
  /// A norm whose weight is an offset from one.
  Constant offset_norm(int64_t cols) { return filled(0.0F, 1, cols); }

  LayerWeights layer(LayerType type) {
    const int64_t hidden = config_.hidden_size;
    LayerWeights weights;
    weights.input_layernorm = offset_norm(hidden);
    weights.post_attention_layernorm = offset_norm(hidden);
    if (type == LayerType::kGatedAttention) {
      weights.mixer = gated_attention();
    } else {
      weights.mixer = gated_delta_net();
    }
    if (config_.is_moe()) {
      const Weight router = kept(config_.experts, hidden);
      const MlpWeights experts = mlp(config_.experts, config_.expert_width);
      weights.ffn = MoeWeights{router, experts, mlp(1, config_.shared_width), kept(1, hidden)};
    } else {
      weights.ffn = mlp(1, config_.dense_width);
    }
    return weights;
  }

 private:
  Weight stack(int64_t count, int64_t rows, int64_t cols, int bits) {
    const int64_t group = cols % 128 == 0 ? 128 : -1;
    return backend_.prepare_synthetic({count, rows, cols, bits, group, seed_++});
  }

  MlpWeights mlp(int64_t count, int64_t width) {
    const int64_t hidden = config_.hidden_size;
    const Weight gate = stack(count, width, hidden, bits_);
    const Weight up = stack(count, width, hidden, bits_);
    return {gate, up, stack(count, hidden, width, bits_)};
  }

  GatedAttentionWeights gated_attention() {
    const int64_t hidden = config_.hidden_size;
    const int64_t query = config_.attention_heads * config_.head_dim;
    const int64_t kv = config_.kv_heads * config_.head_dim;
    return {linear(2 * query, hidden),
            linear(kv, hidden),
            linear(kv, hidden),
            linear(hidden, query),
            offset_norm(config_.head_dim),
            offset_norm(config_.head_dim)};
  }

  GatedDeltaNetWeights gated_delta_net() {
    const int64_t hidden = config_.hidden_size;
    const int64_t heads = config_.value_heads;
    GatedDeltaNetWeights weights;
    weights.in_proj_qkv = linear(config_.conv_channels(), hidden);
    weights.in_proj_z = linear(config_.value_dim(), hidden);
    weights.in_proj_b = kept(heads, hidden);
    weights.in_proj_a = kept(heads, hidden);
    weights.out_proj = linear(hidden, config_.value_dim());
    weights.conv1d = filled(0.5F, config_.conv_channels(), config_.conv_kernel);
    weights.a_log = filled(0.0F, 1, heads);
    weights.dt_bias = filled(0.0F, 1, heads);
    weights.norm = filled(1.0F, 1, config_.value_head_dim);
    return weights;
  }

  Backend& backend_;
  const ModelConfig& config_;
  int bits_;
  uint64_t seed_;  // of the next matrix
};

}  // namespace

ModelWeights synthetic_weights(Backend& backend, const ModelConfig& config, int bits, uint64_t seed) {
  Maker maker(backend, config, bits, seed);
  ModelWeights weights;
  weights.embed_tokens = maker.kept(config.vocab_size, config.hidden_size);
  for (const LayerType type : config.layers) weights.layers.push_back(maker.layer(type));
  weights.norm = maker.offset_norm(config.hidden_size);
  weights.lm_head =
      config.tie_word_embeddings ? weights.embed_tokens : maker.linear(config.vocab_size, config.hidden_size);
  return weights;
}

}  // namespace tercet
