#include "checkpoint/model_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

using json = StrictJson;

// Upper bounds of sizes, far above any released model and low enough that no product of them, not even the
// bytes of all layers' experts (2^10 layers x 3 x 2^12 experts x 2^17 x 2^17 x 8), passes 2^63.
constexpr int64_t kMaxLayers = 1 << 8;
constexpr int64_t kMaxWidth = 1 << 17;
constexpr int64_t kMaxDenseWidth = 1 << 20;
constexpr int64_t kMaxVocabulary = 1 << 22;
constexpr int64_t kMaxHeads = 1 << 10;
constexpr int64_t kMaxHeadDim = 1 << 12;
constexpr int64_t kMaxExperts = 1 << 12;
constexpr int64_t kMaxPositions = int64_t{1} << 31;

/// The keys of one object of the file. A key whose value is null counts as absent.
class Keys {
 public:
  Keys(const json& object, std::string path, const std::string& file)
      : object_(object), path_(std::move(path)), file_(file) {}

  [[noreturn]] void fail(const std::string& key, const std::string& expected,
                         const std::string& found) const {
    throw Error(ErrorKind::kCheckpoint, "the configuration's " + path_ + key + " is not supported",
                {.file = file_, .expected = expected, .found = found});
  }

  const json* find(const std::string& key) const {
    const auto entry = object_.find(key);
    return entry == object_.end() || entry->is_null() ? nullptr : &*entry;
  }

  int64_t integer(const std::string& key, int64_t low, int64_t high) const {
    const json* value = find(key);
    const std::string expected = "an integer from " + std::to_string(low) + " to " + std::to_string(high);
    if (value == nullptr) fail(key, expected, "nothing");
    const bool fits = value->is_number_unsigned()
                          ? value->get<uint64_t>() <= static_cast<uint64_t>(high)
                          : value->is_number_integer() && value->get<int64_t>() <= high;
    if (!fits || value->get<int64_t>() < low) fail(key, expected, shown(*value));
    return value->get<int64_t>();
  }

  int64_t integer(const std::string& key, int64_t low, int64_t high, int64_t otherwise) const {
    return find(key) == nullptr ? otherwise : integer(key, low, high);
  }

  /// A number in (0, high].
  double number(const std::string& key, double high, double otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() > 0) || !(value->get<double>() <= high)) {
      fail(key, "a number above 0 and at most " + json(high).dump(), shown(*value));
    }
    return value->get<double>();
  }

  bool flag(const std::string& key, bool otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, "true or false", shown(*value));
    return value->get<bool>();
  }

  std::string text(const std::string& key, const std::string& otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail(key, "a text", shown(*value));
    return value->get<std::string>();
  }

  /// Throws unless the key is absent or holds `only`.
  void require(const std::string& key, const json& only) const {
    const json* value = find(key);
    if (value != nullptr && *value != only) fail(key, only.dump(), shown(*value));
  }

  Keys object(const std::string& key) const {
    const json* value = find(key);
    if (value == nullptr || !value->is_object())
      fail(key, "an object", value == nullptr ? "nothing" : shown(*value));
    return {*value, path_ + key + ".", file_};
  }

 private:
  const json& object_;
  std::string path_;
  const std::string& file_;
};

std::vector<LayerType> read_layers(const Keys& keys) {
  const int64_t count = keys.integer("num_hidden_layers", 1, kMaxLayers);
  const int64_t interval = keys.integer("full_attention_interval", 1, kMaxLayers, 4);
  std::vector<LayerType> layers;
  const json* types = keys.find("layer_types");
  if (types == nullptr) {
    for (int64_t i = 1; i <= count; ++i) {
      layers.push_back(i % interval == 0 ? LayerType::kGatedAttention : LayerType::kGatedDeltaNet);
    }
    return layers;
  }
  if (!types->is_array() || static_cast<int64_t>(types->size()) != count) {
    keys.fail("layer_types", "a list of num_hidden_layers = " + std::to_string(count) + " types",
              shown(*types));
  }
  for (const json& type : *types) {
    if (type != "linear_attention" && type != "full_attention") {
      keys.fail("layer_types", "linear_attention or full_attention", shown(type));
    }
    layers.push_back(type == "full_attention" ? LayerType::kGatedAttention : LayerType::kGatedDeltaNet);
  }
  return layers;
}

void read_rope(const Keys& keys, ModelConfig& config) {
  if (keys.find("rope_scaling") != nullptr) {  // older spelling of rope_parameters, without the base
    const Keys scaling = keys.object("rope_scaling");
    scaling.require("rope_type", "default");
    scaling.require("type", "default");
  }
  const Keys rope = keys.find("rope_parameters") == nullptr ? keys : keys.object("rope_parameters");
  rope.require("rope_type", "default");
  config.rope_theta = rope.number("rope_theta", 1e15, keys.number("rope_theta", 1e15, config.rope_theta));
  const double factor =
      rope.number("partial_rotary_factor", 1, keys.number("partial_rotary_factor", 1, 0.25));
  config.rotary_dim = static_cast<int64_t>(static_cast<double>(config.head_dim) * factor);
  if (config.rotary_dim < 2 || config.rotary_dim % 2 != 0) {
    rope.fail("partial_rotary_factor", "an even number of rotated dimensions of head_dim",
              std::to_string(config.rotary_dim) + " of " + std::to_string(config.head_dim));
  }
}

void read_mixers(const Keys& keys, ModelConfig& config) {
  keys.require("attention_bias", false);
  keys.require("attn_output_gate", true);
  const std::string gate = keys.text("output_gate_type", "swish");
  if (gate != "swish" && gate != "silu") keys.fail("output_gate_type", "swish", gate);
  config.attention_heads = keys.integer("num_attention_heads", 1, kMaxHeads);
  config.kv_heads = keys.integer("num_key_value_heads", 1, kMaxHeads);
  config.head_dim = keys.integer("head_dim", 2, kMaxHeadDim);
  if (config.attention_heads % config.kv_heads != 0) {
    keys.fail("num_key_value_heads",
              "a divisor of num_attention_heads = " + std::to_string(config.attention_heads),
              std::to_string(config.kv_heads));
  }
  read_rope(keys, config);
  config.key_heads = keys.integer("linear_num_key_heads", 1, kMaxHeads);
  config.value_heads = keys.integer("linear_num_value_heads", 1, kMaxHeads);
  config.key_head_dim = keys.integer("linear_key_head_dim", 1, kMaxHeadDim);
  config.value_head_dim = keys.integer("linear_value_head_dim", 1, kMaxHeadDim);
  config.conv_kernel = keys.integer("linear_conv_kernel_dim", 2, 16);
  if (config.value_heads % config.key_heads != 0) {
    keys.fail("linear_num_value_heads",
              "a multiple of linear_num_key_heads = " + std::to_string(config.key_heads),
              std::to_string(config.value_heads));
  }
}

void read_feed_forward(const Keys& keys, bool moe, ModelConfig& config) {
  keys.require("hidden_act", "silu");
  if (!moe) {
    config.dense_width = keys.integer("intermediate_size", 1, kMaxDenseWidth);
    return;
  }
  keys.require("norm_topk_prob", true);
  keys.require("mlp_only_layers", json::array());
  keys.require("decoder_sparse_step", 1);
  config.experts = keys.integer("num_experts", 1, kMaxExperts);
  config.top_k = keys.integer("num_experts_per_tok", 1, config.experts);
  config.expert_width = keys.integer("moe_intermediate_size", 1, kMaxWidth);
  config.shared_width = keys.integer("shared_expert_intermediate_size", 1, kMaxWidth);
}

VisionConfig read_vision(const Keys& keys) {
  keys.require("deepstack_visual_indexes", json::array());
  VisionConfig vision;
  vision.depth = keys.integer("depth", 1, kMaxLayers);
  vision.hidden_size = keys.integer("hidden_size", 1, kMaxWidth);
  vision.intermediate_size = keys.integer("intermediate_size", 1, kMaxWidth);
  vision.heads = keys.integer("num_heads", 1, kMaxHeads);
  vision.in_channels = keys.integer("in_channels", 1, 16, 3);
  vision.patch_size = keys.integer("patch_size", 1, 256);
  vision.temporal_patch_size = keys.integer("temporal_patch_size", 1, 16, 2);
  vision.spatial_merge_size = keys.integer("spatial_merge_size", 1, 16, 2);
  vision.out_hidden_size = keys.integer("out_hidden_size", 1, kMaxWidth);
  vision.position_embeddings = keys.integer("num_position_embeddings", 1, kMaxPositions);
  return vision;
}

/// "Qwen3_5MoeForConditionalGeneration" or what its model type stands for.
std::string read_architecture(const Keys& keys, const std::string& model_type) {
  const json* list = keys.find("architectures");
  if (list != nullptr && (!list->is_array() || list->size() != 1 || !list->front().is_string())) {
    keys.fail("architectures", "a list of one name", shown(*list));
  }
  if (list != nullptr) return list->front().get<std::string>();
  const bool moe = model_type.starts_with("qwen3_5_moe");
  return std::string(moe ? "Qwen3_5Moe" : "Qwen3_5") +
         (model_type.ends_with("_text") ? "ForCausalLM" : "ForConditionalGeneration");
}

}  // namespace

ModelConfig parse_model_config(const std::string& text, const std::string& file) {
  const json root = parse_strict_json(text, file);
  const Keys top(root, "", file);
  ModelConfig config;
  config.model_type = top.text("model_type", "");
  const bool moe = config.model_type == "qwen3_5_moe" || config.model_type == "qwen3_5_moe_text";
  if (!moe && config.model_type != "qwen3_5" && config.model_type != "qwen3_5_text") {
    top.fail("model_type", "qwen3_5_moe, qwen3_5, qwen3_5_moe_text or qwen3_5_text",
             config.model_type.empty() ? "nothing" : config.model_type);
  }
  config.architecture = read_architecture(top, config.model_type);
  const bool nested = !config.model_type.ends_with("_text");
  const Keys keys = nested ? top.object("text_config") : top;
  keys.require("model_type", moe ? "qwen3_5_moe_text" : "qwen3_5_text");

  config.hidden_size = keys.integer("hidden_size", 1, kMaxWidth);
  config.vocab_size = keys.integer("vocab_size", 1, kMaxVocabulary);
  config.max_position_embeddings = keys.integer("max_position_embeddings", 1, kMaxPositions);
  config.rms_norm_eps = keys.number("rms_norm_eps", 1, config.rms_norm_eps);
  config.tie_word_embeddings =
      keys.flag("tie_word_embeddings", false) || top.flag("tie_word_embeddings", false);
  config.layers = read_layers(keys);
  read_mixers(keys, config);
  read_feed_forward(keys, moe, config);
  config.mtp_layers = keys.integer("mtp_num_hidden_layers", 0, 1, 0);
  keys.require("mtp_use_dedicated_embeddings", false);
  if (nested && top.find("vision_config") != nullptr)
    config.vision = read_vision(top.object("vision_config"));
  return config;
}

}  // namespace tercet
