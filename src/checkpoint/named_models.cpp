// The released sizes, from their published config.json files.
#include <array>
#include <string_view>

#include "base/error.h"
#include "checkpoint/model_config.h"

namespace tercet {
namespace {

struct Released {
  std::string_view name;
  int64_t hidden_size, layers, attention_heads, kv_heads, key_heads, value_heads;
  int64_t dense_width;                   // 0 with experts
  int64_t experts, top_k, expert_width;  // the shared expert has the same width
  bool tied;
  int64_t vision_depth, vision_hidden, vision_width, vision_heads;  // 0 where it is not known
};

constexpr std::array<Released, 8> kReleased = {{
    {"qwen3.6-35b-a3b", 2048, 40, 16, 2, 16, 32, 0, 256, 8, 512, false, 27, 1152, 4304, 16},
    {"qwen3.6-27b", 5120, 64, 24, 4, 16, 48, 17408, 0, 0, 0, false, 27, 1152, 4304, 16},
    {"qwen3.5-9b", 4096, 32, 16, 4, 16, 32, 12288, 0, 0, 0, false, 27, 1152, 4304, 16},
    {"qwen3.5-4b", 2560, 32, 16, 4, 16, 32, 9216, 0, 0, 0, true, 24, 1024, 4096, 16},
    {"qwen3.5-2b", 2048, 24, 8, 2, 16, 16, 6144, 0, 0, 0, true, 0, 0, 0, 0},
    {"qwen3.5-0.8b", 1024, 24, 8, 2, 16, 16, 3584, 0, 0, 0, true, 0, 0, 0, 0},
    {"qwen3.5-122b-a10b", 3072, 48, 32, 2, 16, 64, 0, 256, 8, 1024, false, 27, 1152, 4304, 16},
    {"qwen3.5-397b-a17b", 4096, 60, 32, 2, 16, 64, 0, 512, 10, 1024, false, 27, 1152, 4304, 16},
}};

ModelConfig expand(const Released& model) {
  ModelConfig config;
  const bool moe = model.experts > 0;
  config.architecture = moe ? "Qwen3_5MoeForConditionalGeneration" : "Qwen3_5ForConditionalGeneration";
  config.model_type = moe ? "qwen3_5_moe" : "qwen3_5";
  config.hidden_size = model.hidden_size;
  config.vocab_size = 248320;
  for (int64_t i = 1; i <= model.layers; ++i) {
    config.layers.push_back(i % 4 == 0 ? LayerType::kGatedAttention : LayerType::kGatedDeltaNet);
  }
  config.tie_word_embeddings = model.tied;
  config.max_position_embeddings = 262144;
  config.attention_heads = model.attention_heads;
  config.kv_heads = model.kv_heads;
  config.head_dim = 256;
  config.rotary_dim = 64;
  config.key_heads = model.key_heads;
  config.value_heads = model.value_heads;
  config.key_head_dim = 128;
  config.value_head_dim = 128;
  config.conv_kernel = 4;
  config.experts = model.experts;
  config.top_k = model.top_k;
  config.expert_width = model.expert_width;
  config.shared_width = model.expert_width;
  config.dense_width = model.dense_width;
  config.mtp_layers = 1;
  if (model.vision_depth > 0) {
    config.vision = VisionConfig{.depth = model.vision_depth,
                                 .hidden_size = model.vision_hidden,
                                 .intermediate_size = model.vision_width,
                                 .heads = model.vision_heads,
                                 .in_channels = 3,
                                 .patch_size = 16,
                                 .temporal_patch_size = 2,
                                 .spatial_merge_size = 2,
                                 .out_hidden_size = model.hidden_size,
                                 .position_embeddings = 2304};
  }
  return config;
}

}  // namespace

std::vector<std::string> released_models() {
  std::vector<std::string> names;
  for (const Released& model : kReleased) names.emplace_back(model.name);
  return names;
}

ModelConfig named_model_config(const std::string& name) {
  std::string names;
  for (const Released& model : kReleased) {
    if (model.name == name) return expand(model);
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  }
  throw Error(ErrorKind::kUsage, "there is no released model of this name",
              {.expected = "one of " + names, .found = name});
}

}  // namespace tercet
