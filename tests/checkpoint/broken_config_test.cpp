// Configurations that are refused: one key of a valid config.json wrong each.
#include <gtest/gtest.h>

#include <ostream>

#include "base/error.h"
#include "checkpoint/model_config.h"
#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

struct Broken {
  std::string name;
  std::string pointer;  // JSON pointer of the key
  Json value;           // null: the key is removed
  std::string key;      // part of the message
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) {
  return out << broken.name;
}

class BrokenConfig : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenConfig, IsRefused) {
  Json config = (GetParam().name.starts_with("Dense") ? tiny_dense() : tiny_moe()).config;
  ASSERT_NO_THROW(parse_model_config(config.dump(), "config.json"));
  config[Json::json_pointer(GetParam().pointer)] = GetParam().value;
  try {
    parse_model_config(config.dump(), "config.json");
    FAIL() << "the broken configuration was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_EQ(error.context().file, "config.json");
    EXPECT_NE(error.message().find(GetParam().key), std::string::npos) << error.what();
    EXPECT_FALSE(error.context().expected.empty()) << error.what();
    EXPECT_FALSE(error.context().found.empty()) << error.what();
  }
}

std::vector<Broken> broken_configs() {
  const auto text = [](std::string name, const std::string& key, Json value) {
    return Broken{std::move(name), "/text_config/" + key, std::move(value), "text_config." + key};
  };
  return {
      {"OtherModelType", "/model_type", "llama", "model_type"},
      {"NoModelType", "/model_type", nullptr, "model_type"},
      {"NoTextConfig", "/text_config", nullptr, "text_config"},
      {"TextConfigIsList", "/text_config", Json::array(), "text_config"},
      {"ArchitecturesIsText", "/architectures", "x", "architectures"},
      text("OtherTextType", "model_type", "qwen3_5_text"),
      text("NoHiddenSize", "hidden_size", nullptr),
      text("HiddenSizeZero", "hidden_size", 0),
      text("HiddenSizeNegative", "hidden_size", -16),
      text("HiddenSizeHuge", "hidden_size", 1 << 20),
      text("HiddenSizeAt64Bits", "hidden_size", ~0ULL),
      text("HiddenSizeFractional", "hidden_size", 16.5),
      text("HiddenSizeIsText", "hidden_size", "16"),
      text("VocabularyHuge", "vocab_size", int64_t{1} << 40),
      text("NoLayers", "num_hidden_layers", 0),
      text("LayersHuge", "num_hidden_layers", 1000000000),
      {"LayersDisagreeWithTypes", "/text_config/num_hidden_layers", 3, "layer_types"},
      text("LayerTypeUnknown", "layer_types", {"linear_attention", "sliding_attention"}),
      text("LayerTypesAreNumber", "layer_types", 2),
      text("IntervalZero", "full_attention_interval", 0),
      text("HeadsNotDivisible", "num_key_value_heads", 3),
      text("HeadDimensionOne", "head_dim", 1),
      text("ValueHeadsNotAMultiple", "linear_num_value_heads", 5),
      text("ConvKernelOne", "linear_conv_kernel_dim", 1),
      text("ConvKernelHuge", "linear_conv_kernel_dim", 17),
      text("AttentionBias", "attention_bias", true),
      text("NoOutputGate", "attn_output_gate", false),
      text("OtherOutputGate", "output_gate_type", "sigmoid"),
      text("OtherActivation", "hidden_act", "gelu"),
      text("EpsilonZero", "rms_norm_eps", 0),
      text("EpsilonIsText", "rms_norm_eps", "1e-6"),
      text("TieIsNumber", "tie_word_embeddings", 1),
      text("TopKAboveExperts", "num_experts_per_tok", 4),
      text("ExpertsHuge", "num_experts", 1 << 20),
      text("NoExpertWidth", "moe_intermediate_size", nullptr),
      text("NoSharedWidth", "shared_expert_intermediate_size", nullptr),
      text("NotNormalized", "norm_topk_prob", false),
      text("SomeLayersDense", "mlp_only_layers", {1}),
      text("SparseStep", "decoder_sparse_step", 2),
      text("TwoDraftLayers", "mtp_num_hidden_layers", 2),
      text("DraftEmbeddings", "mtp_use_dedicated_embeddings", true),
      {"Yarn", "/text_config/rope_parameters/rope_type", "yarn", "rope_type"},
      {"RopeIsText", "/text_config/rope_parameters", "default", "rope_parameters"},
      {"RopeThetaZero", "/text_config/rope_parameters/rope_theta", 0, "rope_theta"},
      {"RotaryFactorAboveOne", "/text_config/rope_parameters/partial_rotary_factor", 1.5,
       "partial_rotary_factor"},
      {"RotaryOdd", "/text_config/rope_parameters/partial_rotary_factor", 0.375, "partial_rotary_factor"},
      {"RotaryNothing", "/text_config/rope_parameters/partial_rotary_factor", 0.1, "partial_rotary_factor"},
      {"OlderRopeScaling", "/text_config/rope_scaling", {{"type", "linear"}, {"factor", 2}}, "type"},
      {"VisionIsNumber", "/vision_config", 5, "vision_config"},
      {"VisionDepthZero", "/vision_config/depth", 0, "depth"},
      {"VisionPatchHuge", "/vision_config/patch_size", 100000, "patch_size"},
      {"VisionDeepstack", "/vision_config/deepstack_visual_indexes", {1}, "deepstack_visual_indexes"},
      {"DenseWithoutWidth", "/text_config/intermediate_size", nullptr, "intermediate_size"},
      {"DenseWidthHuge", "/text_config/intermediate_size", int64_t{1} << 33, "intermediate_size"},
  };
}

INSTANTIATE_TEST_SUITE_P(Config, BrokenConfig, ::testing::ValuesIn(broken_configs()),
                         [](const ::testing::TestParamInfo<Broken>& info) { return info.param.name; });

class BrokenJson : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenJson, IsRefused) {
  try {
    parse_model_config(GetParam(), "config.json");
    FAIL() << "the broken text was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_FALSE(error.context().expected.empty()) << error.what();
    EXPECT_FALSE(error.context().found.empty()) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Text, BrokenJson,
                         ::testing::Values("", "[]", "null", "{", "{}x", "{\"a\":1,\"a\":2}", "{\"a\":1e999}",
                                           "{\"a\":\"\xff\"}",
                                           "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}",
                                           "{\"a\":" + std::string(1000000, '[')));

}  // namespace
}  // namespace tercet::testing
