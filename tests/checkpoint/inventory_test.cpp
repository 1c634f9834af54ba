#include "checkpoint/inventory.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"

namespace tercet {
namespace {

std::map<std::string, int64_t> parameters_by_component(const std::string& name) {
  std::map<std::string, int64_t> sums;
  for (const TensorSpec& spec : expected_tensors(named_model_config(name)))
    sums[spec.component] += spec.parameters();
  return sums;
}

// The published index of Qwen3.6-35B-A3B: 1,045 tensors, 71,903,645,408 bytes of BF16.
TEST(Inventory, EqualsThePublishedIndex) {
  const std::vector<TensorSpec> specs = expected_tensors(named_model_config("qwen3.6-35b-a3b"));
  int64_t parameters = 0, vision = 0, mtp = 0;
  std::set<std::string> names;
  for (const TensorSpec& spec : specs) {
    parameters += spec.parameters();
    vision += spec.component == "vision" ? 1 : 0;
    mtp += spec.component == "mtp" ? 1 : 0;
    names.insert(spec.name);
  }
  EXPECT_EQ(specs.size(), 1045U);
  EXPECT_EQ(names.size(), specs.size());
  EXPECT_EQ(vision, 333);
  EXPECT_EQ(mtp, 19);
  EXPECT_EQ(2 * parameters, 71'903'645'408);
}

TEST(Inventory, ComponentsHaveTheKnownSizes) {
  const std::map<std::string, int64_t> expected = {{"embedding", 508'559'360},
                                                   {"head", 508'559'360},
                                                   {"gdn", 1'011'553'920},
                                                   {"attention", 272'634'880},
                                                   {"routed_experts", 32'212'254'720},
                                                   {"shared_experts", 125'911'040},
                                                   {"router", 20'971'520},
                                                   {"norms", 165'888},
                                                   {"mtp", 844'640'768},
                                                   {"vision", 446'571'248}};
  EXPECT_EQ(parameters_by_component("qwen3.6-35b-a3b"), expected);
}

TEST(Inventory, SiblingsHaveTheKnownTotals) {
  const std::map<std::string, int64_t> expected = {{"qwen3.6-27b", 27'781'427'952},
                                                   {"qwen3.5-9b", 9'653'104'368},
                                                   {"qwen3.5-4b", 4'659'865'088},
                                                   {"qwen3.5-122b-a10b", 125'086'497'008},
                                                   {"qwen3.5-397b-a17b", 403'397'928'944}};
  for (const auto& [name, total] : expected) {
    int64_t sum = 0;
    for (const auto& [component, parameters] : parameters_by_component(name)) sum += parameters;
    EXPECT_EQ(sum, total) << name;
  }
}

TEST(Inventory, OtherNamesAreUsageErrorsThatListAll) {
  EXPECT_EQ(named_model_config("qwen3.5-0.8b").layer_count(), 24);
  EXPECT_TRUE(named_model_config("qwen3.5-2b").tie_word_embeddings);
  try {
    named_model_config("llama");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(error.context().expected.find("qwen3.6-27b"), std::string::npos);
    EXPECT_EQ(error.context().found, "llama");
  }
}

TEST(Inventory, FusedExpertsSplitIntoGateAndUp) {
  const TensorSpec fused{
      "layers.0.mlp.experts.gate_up_proj", {4, 6, 8}, TensorKind::kExperts, "routed_experts"};
  const std::vector<ExpertMatrix> matrices = expert_matrices(fused);
  ASSERT_EQ(matrices.size(), 2U);
  EXPECT_EQ(matrices[0].name, "gate_proj");
  EXPECT_EQ(matrices[1].name, "up_proj");
  EXPECT_EQ(matrices[1].first_row, 3);
  EXPECT_EQ(matrices[1].rows, 3);
}

}  // namespace
}  // namespace tercet
