#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tercet {

enum class LayerType { kGatedDeltaNet, kGatedAttention };

/// The vision tower's sizes: only to know its tensors.
struct VisionConfig {
  int64_t depth = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t heads = 0;
  int64_t in_channels = 0;
  int64_t patch_size = 0;
  int64_t temporal_patch_size = 0;
  int64_t spatial_merge_size = 0;
  int64_t out_hidden_size = 0;
  int64_t position_embeddings = 0;
};

/// What config.json says of a Qwen3.5/3.6 hybrid model, checked: `qwen3_5_moe` or dense `qwen3_5`, nested
/// under text_config or text-only. Every size is at least 1 unless said otherwise.
struct ModelConfig {
  std::string architecture;  // "Qwen3_5MoeForConditionalGeneration", ...
  std::string model_type;    // "qwen3_5_moe", "qwen3_5", or their text-only forms
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  std::vector<LayerType> layers;
  double rms_norm_eps = 1e-6;
  bool tie_word_embeddings = false;
  int64_t max_position_embeddings = 0;

  // gated attention
  int64_t attention_heads = 0;
  int64_t kv_heads = 0;  // divides attention_heads
  int64_t head_dim = 0;
  double rope_theta = 1e7;
  int64_t rotary_dim = 0;  // even, at most head_dim

  // Gated DeltaNet
  int64_t key_heads = 0;
  int64_t value_heads = 0;  // a multiple of key_heads
  int64_t key_head_dim = 0;
  int64_t value_head_dim = 0;
  int64_t conv_kernel = 0;

  // feed-forward: mixture of experts, or (experts == 0) dense
  int64_t experts = 0;
  int64_t top_k = 0;  // at most experts
  int64_t expert_width = 0;
  int64_t shared_width = 0;
  int64_t dense_width = 0;  // 0 with experts

  int64_t mtp_layers = 0;  // 0 or 1
  std::optional<VisionConfig> vision;

  bool is_moe() const { return experts > 0; }
  int64_t layer_count() const { return static_cast<int64_t>(layers.size()); }
  int64_t key_dim() const { return key_heads * key_head_dim; }
  int64_t value_dim() const { return value_heads * value_head_dim; }
  int64_t conv_channels() const { return 2 * key_dim() + value_dim(); }
};

/// Reads and checks the text of a config.json; `file` names it in errors. Throws Error(kCheckpoint) that says
/// which key, what was expected and what was found.
ModelConfig parse_model_config(const std::string& json, const std::string& file);

/// The sizes of a released model by its short name, for planning and synthetic runs: "qwen3.6-35b-a3b",
/// "qwen3.6-27b", "qwen3.5-9b", "qwen3.5-4b", "qwen3.5-2b", "qwen3.5-0.8b", "qwen3.5-122b-a10b",
/// "qwen3.5-397b-a17b" (facts: the published config.json files). Throws Error(kUsage) that lists the names.
ModelConfig named_model_config(const std::string& name);

/// The names that it knows.
std::vector<std::string> released_models();

}  // namespace tercet
