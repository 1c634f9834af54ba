#include "checkpoint/model_config.h"

#include <gtest/gtest.h>

#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

ModelConfig parsed(const Json& config) {
  return parse_model_config(config.dump(), "config.json");
}

TEST(ModelConfig, ReadsNano) {
  const ModelConfig c = parse_model_config(
      read_file(std::string(TERCET_SOURCE_DIR) + "/models/nano/config.json"), "config.json");
  EXPECT_EQ(c.architecture, "Qwen3_5MoeForConditionalGeneration");
  EXPECT_EQ(c.hidden_size, 256);
  EXPECT_EQ(c.vocab_size, 8192);
  EXPECT_EQ(c.layer_count(), 4);
  EXPECT_EQ(c.layers[2], LayerType::kGatedDeltaNet);
  EXPECT_EQ(c.layers[3], LayerType::kGatedAttention);
  EXPECT_EQ(c.rotary_dim, 16);
  EXPECT_EQ(c.rope_theta, 1e7);
  EXPECT_EQ(c.conv_channels(), 2 * 2 * 64 + 4 * 64);
  EXPECT_EQ(c.experts, 16);
  EXPECT_EQ(c.top_k, 4);
  EXPECT_EQ(c.dense_width, 0);
  EXPECT_EQ(c.mtp_layers, 1);
  ASSERT_TRUE(c.vision);
  EXPECT_EQ(c.vision->position_embeddings, 64);
  EXPECT_FALSE(c.tie_word_embeddings);
}

TEST(ModelConfig, LayersFollowTheIntervalWhereTypesAreAbsent) {
  Json config = tiny_dense().config;
  config["text_config"].erase("layer_types");
  config["text_config"]["num_hidden_layers"] = 7;
  config["text_config"]["full_attention_interval"] = 3;
  const ModelConfig c = parsed(config);
  ASSERT_EQ(c.layer_count(), 7);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(c.layers[i] == LayerType::kGatedAttention, i == 2 || i == 5) << i;
}

TEST(ModelConfig, TextOnlyIsReadAtTheTop) {
  for (const bool moe : {true, false}) {
    Json config = (moe ? tiny_moe() : tiny_dense()).config["text_config"];
    const ModelConfig c = parsed(config);
    EXPECT_EQ(c.is_moe(), moe);
    EXPECT_EQ(c.architecture, moe ? "Qwen3_5MoeForCausalLM" : "Qwen3_5ForCausalLM");
    EXPECT_FALSE(c.vision);
  }
}

TEST(ModelConfig, OlderKeysOfTheRotaryEmbedding) {
  Json config = tiny_dense().config;
  Json& text = config["text_config"];
  text.erase("rope_parameters");
  text["rope_theta"] = 5000;
  text["partial_rotary_factor"] = 0.5;
  text["rope_scaling"] = nullptr;
  EXPECT_EQ(parsed(config).rope_theta, 5000);
  EXPECT_EQ(parsed(config).rotary_dim, 4);
}

TEST(ModelConfig, TieAtEitherLevel) {
  Json config = tiny_dense().config;
  config["tie_word_embeddings"] = true;
  EXPECT_TRUE(parsed(config).tie_word_embeddings);
  config.erase("tie_word_embeddings");
  EXPECT_FALSE(parsed(config).tie_word_embeddings);
  config["text_config"]["tie_word_embeddings"] = true;
  EXPECT_TRUE(parsed(config).tie_word_embeddings);
}

}  // namespace
}  // namespace tercet::testing
