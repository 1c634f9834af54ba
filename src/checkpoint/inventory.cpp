#include "checkpoint/inventory.h"

#include <utility>

#include "base/check.h"

namespace tercet {
namespace {

using Shape = std::vector<int64_t>;

class Builder {
 public:
  explicit Builder(const ModelConfig& config) : config_(config) {}

  void add(std::string name, Shape shape, TensorKind kind, std::string component) {
    specs_.push_back({std::move(name), std::move(shape), kind, std::move(component)});
  }

  void linear(const std::string& module, int64_t outputs, int64_t inputs, const std::string& component) {
    add(module + ".weight", {outputs, inputs}, TensorKind::kLinear, component);
  }

  void norm(const std::string& module, int64_t width, const std::string& component) {
    add(module + ".weight", {width}, TensorKind::kNorm, component);
  }

  void delta_net(const std::string& p) {
    const ModelConfig& c = config_;
    linear(p + "in_proj_qkv", c.conv_channels(), c.hidden_size, "gdn");
    linear(p + "in_proj_z", c.value_dim(), c.hidden_size, "gdn");
    linear(p + "in_proj_b", c.value_heads, c.hidden_size, "gdn");
    linear(p + "in_proj_a", c.value_heads, c.hidden_size, "gdn");
    add(p + "conv1d.weight", {c.conv_channels(), 1, c.conv_kernel}, TensorKind::kConv, "gdn");
    add(p + "A_log", {c.value_heads}, TensorKind::kDecay, "gdn");
    add(p + "dt_bias", {c.value_heads}, TensorKind::kDecay, "gdn");
    norm(p + "norm", c.value_head_dim, "gdn");
    linear(p + "out_proj", c.hidden_size, c.value_dim(), "gdn");
  }

  void attention(const std::string& p, const std::string& component) {
    const ModelConfig& c = config_;
    linear(p + "q_proj", 2 * c.attention_heads * c.head_dim, c.hidden_size, component);  // query and gate
    linear(p + "k_proj", c.kv_heads * c.head_dim, c.hidden_size, component);
    linear(p + "v_proj", c.kv_heads * c.head_dim, c.hidden_size, component);
    linear(p + "o_proj", c.hidden_size, c.attention_heads * c.head_dim, component);
    norm(p + "q_norm", c.head_dim, component);
    norm(p + "k_norm", c.head_dim, component);
  }

  void swiglu(const std::string& p, int64_t width, const std::string& component) {
    linear(p + "gate_proj", width, config_.hidden_size, component);
    linear(p + "up_proj", width, config_.hidden_size, component);
    linear(p + "down_proj", config_.hidden_size, width, component);
  }

  /// `mtp` names the component of everything in the draft layer.
  void feed_forward(const std::string& p, bool mtp) {
    const ModelConfig& c = config_;
    const auto component = [mtp](const char* own) { return std::string(mtp ? "mtp" : own); };
    if (!c.is_moe()) return swiglu(p, c.dense_width, component("mlp"));
    add(p + "gate.weight", {c.experts, c.hidden_size}, TensorKind::kRouter, component("router"));
    add(p + "experts.gate_up_proj", {c.experts, 2 * c.expert_width, c.hidden_size}, TensorKind::kExperts,
        component("routed_experts"));
    add(p + "experts.down_proj", {c.experts, c.hidden_size, c.expert_width}, TensorKind::kExperts,
        component("routed_experts"));
    swiglu(p + "shared_expert.", c.shared_width, component("shared_experts"));
    add(p + "shared_expert_gate.weight", {1, c.hidden_size}, TensorKind::kSharedGate,
        component("shared_experts"));
  }

  void layer(const std::string& p, LayerType type, bool mtp) {
    norm(p + "input_layernorm", config_.hidden_size, mtp ? "mtp" : "norms");
    if (type == LayerType::kGatedAttention) {
      attention(p + "self_attn.", mtp ? "mtp" : "attention");
    } else {
      delta_net(p + "linear_attn.");
    }
    norm(p + "post_attention_layernorm", config_.hidden_size, mtp ? "mtp" : "norms");
    feed_forward(p + "mlp.", mtp);
  }

  void mtp() {
    const int64_t hidden = config_.hidden_size;
    norm("mtp.pre_fc_norm_embedding", hidden, "mtp");
    norm("mtp.pre_fc_norm_hidden", hidden, "mtp");
    linear("mtp.fc", hidden, 2 * hidden, "mtp");
    layer("mtp.layers.0.", LayerType::kGatedAttention, true);
    norm("mtp.norm", hidden, "mtp");
  }

  /// A weight and its bias, as every module of the vision tower has.
  void vision_pair(const std::string& module, Shape shape) {
    add(module + ".bias", {shape.front()}, TensorKind::kVision, "vision");
    add(module + ".weight", std::move(shape), TensorKind::kVision, "vision");
  }

  void vision(const VisionConfig& v) {
    vision_pair("visual.patch_embed.proj",
                {v.hidden_size, v.in_channels, v.temporal_patch_size, v.patch_size, v.patch_size});
    add("visual.pos_embed.weight", {v.position_embeddings, v.hidden_size}, TensorKind::kVision, "vision");
    for (int64_t i = 0; i < v.depth; ++i) {
      const std::string p = "visual.blocks." + std::to_string(i) + ".";
      vision_pair(p + "norm1", {v.hidden_size});
      vision_pair(p + "attn.qkv", {3 * v.hidden_size, v.hidden_size});
      vision_pair(p + "attn.proj", {v.hidden_size, v.hidden_size});
      vision_pair(p + "norm2", {v.hidden_size});
      vision_pair(p + "mlp.linear_fc1", {v.intermediate_size, v.hidden_size});
      vision_pair(p + "mlp.linear_fc2", {v.hidden_size, v.intermediate_size});
    }
    const int64_t merged = v.hidden_size * v.spatial_merge_size * v.spatial_merge_size;
    vision_pair("visual.merger.norm", {v.hidden_size});
    vision_pair("visual.merger.linear_fc1", {merged, merged});
    vision_pair("visual.merger.linear_fc2", {v.out_hidden_size, merged});
  }

  std::vector<TensorSpec> build() {
    const ModelConfig& c = config_;
    add("embed_tokens.weight", {c.vocab_size, c.hidden_size}, TensorKind::kEmbedding, "embedding");
    for (int64_t i = 0; i < c.layer_count(); ++i) {
      layer("layers." + std::to_string(i) + ".", c.layers[static_cast<size_t>(i)], false);
    }
    norm("norm", c.hidden_size, "norms");
    if (!c.tie_word_embeddings) {
      add("lm_head.weight", {c.vocab_size, c.hidden_size}, TensorKind::kHead, "head");
    }
    if (c.mtp_layers > 0) mtp();
    if (c.vision) vision(*c.vision);
    return std::move(specs_);
  }

 private:
  const ModelConfig& config_;
  std::vector<TensorSpec> specs_;
};

}  // namespace

int64_t TensorSpec::parameters() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::string TensorSpec::module() const {
  return name.ends_with(".weight") ? name.substr(0, name.size() - std::string(".weight").size()) : name;
}

bool TensorSpec::quantizable() const {
  switch (kind) {
    case TensorKind::kHead:
    case TensorKind::kLinear:
    case TensorKind::kRouter:
    case TensorKind::kSharedGate:
    case TensorKind::kExperts:
      return true;
    default:
      return false;
  }
}

std::vector<TensorSpec> expected_tensors(const ModelConfig& config) {
  return Builder(config).build();
}

std::vector<ExpertMatrix> expert_matrices(const TensorSpec& fused) {
  TERCET_CHECK(fused.kind == TensorKind::kExperts);
  const int64_t rows = fused.shape[1];
  if (fused.name.ends_with(".down_proj")) return {{"down_proj", 0, rows}};
  return {{"gate_proj", 0, rows / 2}, {"up_proj", rows / 2, rows / 2}};
}

}  // namespace tercet
