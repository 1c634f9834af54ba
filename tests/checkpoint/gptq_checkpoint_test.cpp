// Quantized checkpoints: what is written is read back to the same integers.
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gptq_tensors.h"
#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

const std::string kDisk = "model.language_model.layers.1.self_attn.q_proj";  // [64, 16]
const std::string kModule = "layers.1.self_attn.q_proj";

QuantizedMatrix read(const TinyModel& model, const std::string& module = kModule) {
  const TempFolder folder;
  model.write(folder);
  return std::get<QuantizedMatrix>(Checkpoint::open(folder.path())->matrix(module));
}

void expect_same(const QuantizedMatrix& a, const QuantizedMatrix& b) {
  EXPECT_EQ(a.bits, b.bits);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.group_size, b.group_size);
  EXPECT_EQ(a.codes, b.codes);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.zeros, b.zeros);
  EXPECT_EQ(a.group_index, b.group_index);
}

TEST(GptqCheckpoint, RoundTripsAllWidthsGroupsAndVersions) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const int64_t group : {int64_t{8}, int64_t{5}, int64_t{-1}, int64_t{64}}) {
      for (const bool v1 : {false, true}) {
        for (const bool symmetric : {false, true}) {
          TinyModel model = tiny_moe();
          model.config["quantization_config"] = gptq_config(bits, group);
          model.config["quantization_config"]["checkpoint_format"] = v1 ? "gptq" : "gptq_v2";
          model.config["quantization_config"]["sym"] = symmetric;
          QuantizedMatrix expected = model.quantize(kDisk, bits, group, v1, symmetric);
          expected.group_size = std::min(expected.group_size, expected.cols);
          expect_same(read(model), expected);
        }
      }
    }
  }
}

TEST(GptqCheckpoint, SymmetricZerosAreBelievedOverTheDeclaredVersion) {
  for (const bool stored_v1 : {false, true}) {
    TinyModel model = tiny_moe();
    model.config["quantization_config"] = gptq_config(4, 8);
    model.config["quantization_config"]["checkpoint_format"] = stored_v1 ? "gptq_v2" : "gptq";
    const QuantizedMatrix expected = model.quantize(kDisk, 4, 8, stored_v1);
    expect_same(read(model), expected);
    // Asymmetric files may hold any zero, so there the declaration counts.
    model.config["quantization_config"]["sym"] = false;
    const QuantizedMatrix trusted = read(model);
    ASSERT_FALSE(trusted.zeros.empty());
    EXPECT_EQ(trusted.zeros[0], stored_v1 ? 7 : 9);
  }
}

TEST(GptqCheckpoint, SymmetricWithOtherZerosFollowsTheDeclaration) {
  TinyModel model = tiny_moe();
  model.config["quantization_config"] = gptq_config(4, 8);
  const QuantizedMatrix expected = model.quantize(kDisk, 4, 8, false, false);
  expect_same(read(model), expected);
}

TEST(GptqCheckpoint, GroupIndexInAnyOrder) {
  TinyModel model = tiny_moe();
  model.config["quantization_config"] = gptq_config(4, 8);
  QuantizedMatrix expected = model.quantize(kDisk, 4, 8, false);
  for (int64_t k = 0; k < 16; ++k) expected.group_index.push_back(static_cast<int32_t>(k % 2));
  std::memcpy(model.at(kDisk + ".g_idx").bytes.data(), expected.group_index.data(), 16 * sizeof(int32_t));
  const QuantizedMatrix matrix = read(model);
  expect_same(matrix, expected);
  std::vector<float> row(16);
  matrix.row_to_floats(3, row.data());
  EXPECT_EQ(row[5], expected.scales[3 * 2 + 1] * static_cast<float>(expected.codes[3 * 16 + 5] - 8));
}

TEST(GptqCheckpoint, ScalesOfOtherFloatTypes) {
  TinyModel model = tiny_moe();
  model.config["quantization_config"] = gptq_config(4, 8);
  const QuantizedMatrix expected = model.quantize(kDisk, 4, 8, false);
  model.convert(kDisk + ".scales", DType::kF32);
  expect_same(read(model), expected);
}

TEST(GptqCheckpoint, RulesGiveEachModuleItsWidth) {
  TinyModel model = tiny_moe();
  Json& config = model.config["quantization_config"] = gptq_config(4, 8);
  config["dynamic"] = {{"+:.*experts\\.1\\..*", {{"bits", 3}, {"group_size", -1}}},
                       {".*experts\\..*", {{"bits", 2}}},
                       {"-:.*linear_attn", Json::object()}};
  model.split_experts();
  const std::string experts = "model.language_model.layers.0.mlp.experts.";
  const QuantizedMatrix first = model.quantize(experts + "0.up_proj", 2, 8, false);
  const QuantizedMatrix second = model.quantize(experts + "1.up_proj", 3, -1, false);
  const QuantizedMatrix queries = model.quantize(kDisk, 4, 8, false);
  const QuantizedMatrix head = model.quantize("lm_head", 4, 8, false);
  const QuantizedMatrix router = model.quantize("model.language_model.layers.0.mlp.gate", 4, 8, false);
  expect_same(read(model, "layers.0.mlp.experts.0.up_proj"), first);
  expect_same(read(model, "layers.0.mlp.experts.1.up_proj"), second);
  expect_same(read(model), queries);
  expect_same(read(model, "lm_head"), head);
  expect_same(read(model, "layers.0.mlp.gate"), router);
}

TEST(QuantizationConfig, ReadsTheDialect) {
  Json root = {{"quantization_config", gptq_config(4, 128)}};
  root["quantization_config"]["meta"] = {{"method", "rtn"}};
  root["quantization_config"]["dynamic"] = {{"+:.*down", {{"bits", 8}}}, {"-:.*down_proj$", Json::object()}};
  const auto config = parse_quantization_config(root.dump(), "config.json");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->method, "rtn");
  EXPECT_EQ(config->container, "gptq");
  EXPECT_FALSE(config->gptq_v1);
  EXPECT_FALSE(config->of("a.down_proj")) << "rules that leave out come first";
  EXPECT_EQ(config->of("a.down_proj.x")->bits, 8);
  EXPECT_EQ(config->of("a.up_proj")->bits, 4);
  EXPECT_EQ(config->of("a.up_proj")->group_size, 128);
  EXPECT_FALSE(parse_quantization_config("{}", "config.json"));

  root["quantization_config"].erase("checkpoint_format");
  EXPECT_TRUE(parse_quantization_config(root.dump(), "config.json")->gptq_v1)
      << "version 1 where nothing is said";
  const Json nested = {{"text_config", root}};
  EXPECT_TRUE(parse_quantization_config(nested.dump(), "config.json"));
}

}  // namespace
}  // namespace tercet::testing
