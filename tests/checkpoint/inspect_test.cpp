#include "checkpoint/inspect.h"

#include <gtest/gtest.h>

#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

Inspection inspected(const TinyModel& model) {
  const TempFolder folder;
  model.write(folder, 2);
  return inspect(*Checkpoint::open(folder.path()));
}

TEST(Inspect, FloatModelHasSixteenBits) {
  const TinyModel model = tiny_moe();
  const Inspection result = inspected(model);
  EXPECT_EQ(result.architecture, "Qwen3_5MoeForConditionalGeneration");
  EXPECT_EQ(result.layers, 2);
  EXPECT_EQ(result.bits_per_weight, 16);
  EXPECT_EQ(result.quantized_bits_per_weight, 0);
  EXPECT_EQ(result.quantization.method, "none");
  EXPECT_EQ(result.quantization.container, "none");
  int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> names;
  for (const ComponentSummary& component : result.components) {
    tensors += component.tensors;
    parameters += component.parameters;
    bytes += component.bytes;
    names.push_back(component.name);
    EXPECT_EQ(component.bits_per_weight, 16);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"embedding", "norms", "gdn", "router", "routed_experts",
                                             "shared_experts", "attention", "head", "mtp", "vision"}));
  EXPECT_EQ(static_cast<size_t>(tensors), model.tensors.size());
  EXPECT_EQ(parameters, result.parameters);
  EXPECT_EQ(bytes, result.bytes);
  EXPECT_EQ(bytes, 2 * parameters);
}

TEST(Inspect, QuantizedBitsCountCodesScalesAndZeros) {
  TinyModel model = tiny_moe();
  const Inspection before = inspected(model);
  model.config["quantization_config"] = gptq_config(4, 8);
  model.config["quantization_config"]["meta"] = {{"method", "rtn"}};
  model.quantize("model.language_model.layers.1.self_attn.q_proj", 4, 8, false);  // [64, 16], two groups
  const Inspection result = inspected(model);
  EXPECT_EQ(result.quantization.method, "rtn");
  EXPECT_EQ(result.quantization.container, "gptq");
  EXPECT_EQ(result.quantization.bits, 4);
  EXPECT_EQ(result.quantization.group_size, 8);
  EXPECT_EQ(result.quantized_bits_per_weight, 4 + 16.0 / 8 + 4.0 / 8);
  EXPECT_EQ(result.parameters, before.parameters);
  const int64_t saved = 64 * 16 * 2 - (64 * 16 / 2 + 2 * 64 * 2 + 2 * 64 / 2 + 16 * 4);
  EXPECT_EQ(result.bytes, before.bytes - saved);
  int64_t text_parameters = 0;
  for (const ComponentSummary& component : result.components) {
    if (component.name != "mtp" && component.name != "vision") text_parameters += component.parameters;
  }
  EXPECT_DOUBLE_EQ(result.bits_per_weight,
                   16 - 8.0 * static_cast<double>(saved) / static_cast<double>(text_parameters));
}

TEST(Inspect, MostWeightsNameTheWidth) {
  TinyModel model = tiny_dense();
  model.config["quantization_config"] = gptq_config(4, -1);
  model.config["quantization_config"]["dynamic"] = {{"+:.*up_proj", {{"bits", 2}, {"group_size", 4}}}};
  model.quantize("model.language_model.layers.1.self_attn.q_proj", 4, -1, false);
  model.quantize("model.language_model.layers.1.mlp.up_proj", 2, 4, false);
  const Inspection result = inspected(model);
  EXPECT_EQ(result.quantization.method, "gptq");
  EXPECT_EQ(result.quantization.bits, 4);
  EXPECT_EQ(result.quantization.group_size, -1);
}

}  // namespace
}  // namespace tercet::testing
