#include "model/weights.h"

#include <cstring>

namespace tercet {
namespace {

/// Binds the modules and constants below one prefix.
class Binder {
 public:
  Binder(Backend& backend, const WeightSource& source, std::string prefix)
      : backend_(backend), source_(source), prefix_(std::move(prefix)) {}

  Weight matrix(const std::string& module) const { return bind_matrix(backend_, source_, prefix_ + module); }

  Constant constant(const std::string& tensor, int64_t rows, int64_t cols) const {
    return make_constant(backend_, source_.values(prefix_ + tensor), rows, cols);
  }
  Constant row(const std::string& tensor, int64_t cols) const { return constant(tensor, 1, cols); }

  Weight experts(const std::string& projection) const {
    return backend_.prepare(source_.config().experts, [&](int64_t expert) {
      return source_.matrix(prefix_ + "mlp.experts." + std::to_string(expert) + "." + projection);
    });
  }

  GatedAttentionWeights gated_attention() const {
    const int64_t head_dim = source_.config().head_dim;
    return {matrix("self_attn.q_proj"),
            matrix("self_attn.k_proj"),
            matrix("self_attn.v_proj"),
            matrix("self_attn.o_proj"),
            row("self_attn.q_norm.weight", head_dim),
            row("self_attn.k_norm.weight", head_dim)};
  }

  GatedDeltaNetWeights gated_delta_net() const {
    const ModelConfig& config = source_.config();
    return {matrix("linear_attn.in_proj_qkv"),
            matrix("linear_attn.in_proj_z"),
            matrix("linear_attn.in_proj_b"),
            matrix("linear_attn.in_proj_a"),
            matrix("linear_attn.out_proj"),
            constant("linear_attn.conv1d.weight", config.conv_channels(), config.conv_kernel),
            row("linear_attn.A_log", config.value_heads),
            row("linear_attn.dt_bias", config.value_heads),
            row("linear_attn.norm.weight", config.value_head_dim)};
  }

  MlpWeights mlp(const std::string& module) const {
    return {matrix(module + ".gate_proj"), matrix(module + ".up_proj"), matrix(module + ".down_proj")};
  }

  LayerWeights layer(LayerType type) const {
    const ModelConfig& config = source_.config();
    LayerWeights weights;
    weights.input_layernorm = row("input_layernorm.weight", config.hidden_size);
    weights.post_attention_layernorm = row("post_attention_layernorm.weight", config.hidden_size);
    if (type == LayerType::kGatedAttention) {
      weights.mixer = gated_attention();
    } else {
      weights.mixer = gated_delta_net();
    }
    if (config.is_moe()) {
      weights.ffn = MoeWeights{matrix("mlp.gate"),
                               {experts("gate_proj"), experts("up_proj"), experts("down_proj")},
                               mlp("mlp.shared_expert"),
                               matrix("mlp.shared_expert_gate")};
    } else {
      weights.ffn = mlp("mlp");
    }
    return weights;
  }

 private:
  Backend& backend_;
  const WeightSource& source_;
  std::string prefix_;
};

/// Columns [begin, begin + cols) of a matrix as fp32 rows in `storage`.
DenseMatrix columns(const CanonicalMatrix& matrix, int64_t begin, int64_t cols, std::vector<float>& storage) {
  const int64_t rows = rows_of(matrix);
  std::vector<float> row(static_cast<size_t>(cols_of(matrix)));
  storage.resize(static_cast<size_t>(rows * cols));
  for (int64_t n = 0; n < rows; ++n) {
    row_to_floats(matrix, n, row.data());
    std::memcpy(storage.data() + n * cols, row.data() + begin, static_cast<size_t>(cols) * sizeof(float));
  }
  return {DType::kF32, rows, cols, reinterpret_cast<const std::byte*>(storage.data())};
}

MtpWeights bind_mtp(Backend& backend, const WeightSource& source) {
  const int64_t hidden = source.config().hidden_size;
  const Binder mtp(backend, source, "mtp.");
  MtpWeights weights;
  weights.pre_fc_norm_embedding = mtp.row("pre_fc_norm_embedding.weight", hidden);
  weights.pre_fc_norm_hidden = mtp.row("pre_fc_norm_hidden.weight", hidden);
  std::vector<float> storage;
  const CanonicalMatrix fc = source.matrix("mtp.fc");
  weights.fc_embedding = backend.prepare(1, [&](int64_t) { return columns(fc, 0, hidden, storage); });
  weights.fc_hidden = backend.prepare(1, [&](int64_t) { return columns(fc, hidden, hidden, storage); });
  weights.layer = Binder(backend, source, "mtp.layers.0.").layer(LayerType::kGatedAttention);
  weights.norm = mtp.row("norm.weight", hidden);
  return weights;
}

}  // namespace

Constant make_constant(Backend& backend, const std::vector<float>& values, int64_t rows, int64_t cols) {
  TERCET_CHECK_EQ(static_cast<int64_t>(values.size()), rows * cols);
  Constant constant;
  const int64_t bytes = rows * cols * static_cast<int64_t>(sizeof(float));
  constant.buffer = backend.allocate(bytes);
  backend.upload(constant.buffer.get(), values.data(), bytes);
  constant.view = {constant.buffer.get(), DType::kF32, rows, cols};
  return constant;
}

Weight bind_matrix(Backend& backend, const WeightSource& source, const std::string& module) {
  return backend.prepare(1, [&](int64_t) { return source.matrix(module); });
}

LayerWeights bind_layer(Backend& backend, const WeightSource& source, int64_t layer) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  return Binder(backend, source, prefix).layer(source.config().layers[static_cast<size_t>(layer)]);
}

ModelWeights bind_weights(Backend& backend, const WeightSource& source, bool mtp) {
  const ModelConfig& config = source.config();
  ModelWeights weights;
  weights.embed_tokens = bind_matrix(backend, source, "embed_tokens");
  for (int64_t i = 0; i < config.layer_count(); ++i) {
    weights.layers.push_back(bind_layer(backend, source, i));
    source.drop_pages();
  }
  weights.norm = make_constant(backend, source.values("norm.weight"), 1, config.hidden_size);
  weights.lm_head =
      config.tie_word_embeddings ? weights.embed_tokens : bind_matrix(backend, source, "lm_head");
  if (mtp && config.mtp_layers > 0) weights.mtp.push_back(bind_mtp(backend, source));
  source.drop_pages();
  return weights;
}

}  // namespace tercet
