// Well-formed files that do not hold the model which the configuration describes: one thing wrong each.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <ostream>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

const std::string kLayer = "model.language_model.layers.0.";
const std::string kExpert = kLayer + "mlp.experts.1.up_proj";
const std::string kQueries = "model.language_model.layers.1.self_attn.q_proj";

struct Broken {
  std::string name;
  std::function<void(TinyModel&)> break_it;
  std::string tensor;       // what the error must name; empty: it is about config.json
  std::string read_module;  // canonical name of the matrix whose reading must fail; empty: opening must
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) {
  return out << broken.name;
}

class BrokenModel : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenModel, IsRefused) {
  TinyModel model = tiny_moe();
  GetParam().break_it(model);
  const TempFolder folder;
  model.write(folder);
  try {
    const auto checkpoint = Checkpoint::open(folder.path());
    if (!GetParam().read_module.empty()) checkpoint->matrix(GetParam().read_module);
    FAIL() << "the broken model was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint) << error.what();
    EXPECT_EQ(error.context().tensor, GetParam().tensor) << error.what();
    EXPECT_EQ(error.context().file.find(folder.path()), 0U) << error.what();
    if (GetParam().tensor.empty()) {
      EXPECT_EQ(error.context().file, folder / "config.json") << error.what();
    }
    EXPECT_FALSE(error.context().expected.empty()) << error.what();
    EXPECT_FALSE(error.context().found.empty()) << error.what();
  }
}

/// The same experts and queries as integers, then one thing wrong.
Broken packed(std::string name, std::function<void(TinyModel&)> change, std::string tensor,
              std::string read_module = "") {
  return {std::move(name),
          [change](TinyModel& model) {
            model.config["quantization_config"] = gptq_config(4, 8);
            model.split_experts();
            model.quantize(kExpert, 4, 8, false);
            model.quantize(kQueries, 4, 8, false);
            const TempFolder folder;
            model.write(folder);
            ASSERT_NO_THROW(Checkpoint::open(folder.path())->matrix("layers.1.self_attn.q_proj"));
            change(model);
          },
          std::move(tensor), std::move(read_module)};
}

template <class T>
void set_first(RawTensor& tensor, T value) {
  std::memcpy(tensor.bytes.data(), &value, sizeof(value));
}

std::vector<Broken> broken_inventories() {
  return {
      {"TensorMissing", [](TinyModel& m) { m.remove(kLayer + "linear_attn.A_log"); },
       kLayer + "linear_attn.A_log", ""},
      {"TensorUnknown", [](TinyModel& m) { m.add(kLayer + "mlp.bias", DType::kBF16, {4}); },
       kLayer + "mlp.bias", ""},
      {"LayerTooMany",
       [](TinyModel& m) {
         m.add("model.language_model.layers.2.input_layernorm.weight", DType::kBF16, {16});
       },
       "model.language_model.layers.2.input_layernorm.weight", ""},
      {"ShapeWrong",
       [](TinyModel& m) {
         m.at(kLayer + "mlp.gate.weight").shape = {4, 12};
       },
       kLayer + "mlp.gate.weight", ""},
      {"ShapeTransposed",
       [](TinyModel& m) {
         m.at("mtp.fc.weight").shape = {32, 16};
       },
       "mtp.fc.weight", ""},
      {"ConvWithoutMiddleDimension",
       [](TinyModel& m) {
         m.at(kLayer + "linear_attn.conv1d.weight").shape = {64, 4};
       },
       kLayer + "linear_attn.conv1d.weight", ""},
      {"WeightsAreIntegers", [](TinyModel& m) { m.at("lm_head.weight").dtype = DType::kI16; },
       "lm_head.weight", ""},
      {"NormIsIntegers", [](TinyModel& m) { m.at(kLayer + "input_layernorm.weight").dtype = DType::kU16; },
       kLayer + "input_layernorm.weight", ""},
      {"HeadMissing", [](TinyModel& m) { m.remove("lm_head.weight"); }, "lm_head.weight", ""},
      {"DraftLayerPartlyMissing", [](TinyModel& m) { m.remove("mtp.norm.weight"); }, "mtp.norm.weight", ""},
      {"DraftLayerNotConfigured", [](TinyModel& m) { set_text(m, "mtp_num_hidden_layers", 0); },
       "mtp.pre_fc_norm_embedding.weight", ""},
      {"VisionPartlyMissing", [](TinyModel& m) { m.remove("model.visual.blocks.0.attn.qkv.bias"); },
       "model.visual.blocks.0.attn.qkv.bias", ""},
      {"VisionNotConfigured", [](TinyModel& m) { m.config.erase("vision_config"); },
       "model.visual.patch_embed.proj.bias", ""},
      {"PrefixesMixed", [](TinyModel& m) { m.rename(kLayer, "model.layers.0."); },
       kLayer + "input_layernorm.weight", ""},
      {"PrefixUnknown", [](TinyModel& m) { m.rename("model.language_model.", "language_model.model."); },
       "model.embed_tokens.weight", ""},
      {"ExpertMissing",
       [](TinyModel& m) {
         m.split_experts();
         m.remove(kLayer + "mlp.experts.2.down_proj.weight");
       },
       kLayer + "mlp.experts.2.down_proj.weight", ""},
      {"ExpertTooMany",
       [](TinyModel& m) {
         m.split_experts();
         m.add(kLayer + "mlp.experts.3.down_proj.weight", DType::kBF16, {16, 8});
       },
       kLayer + "mlp.experts.3.down_proj.weight", ""},
      {"ExpertsFusedAndSeparate",
       [](TinyModel& m) {
         const RawTensor fused = m.at(kLayer + "mlp.experts.down_proj");
         m.split_experts();
         m.tensors.push_back(fused);
       },
       kLayer + "mlp.experts.down_proj", ""},
  };
}

std::vector<Broken> broken_integers() {
  return {
      packed(
          "WordsOfOtherBits", [](TinyModel& m) { m.config["quantization_config"]["bits"] = 8; },
          kExpert + ".qweight"),
      packed(
          "GroupsOfOtherSize", [](TinyModel& m) { m.config["quantization_config"]["group_size"] = 16; },
          kExpert + ".qzeros"),
      packed(
          "ZerosMissing", [](TinyModel& m) { m.remove(kExpert + ".qzeros"); }, kExpert + ".qzeros"),
      packed(
          "ScalesMissing", [](TinyModel& m) { m.remove(kExpert + ".scales"); }, kExpert + ".scales"),
      packed(
          "GroupIndexMissing", [](TinyModel& m) { m.remove(kQueries + ".g_idx"); }, kQueries + ".g_idx"),
      packed(
          "ScalesTransposed",
          [](TinyModel& m) {
            m.at(kQueries + ".scales").shape = {64, 2};
          },
          kQueries + ".scales"),
      packed(
          "WordsAreFloats", [](TinyModel& m) { m.at(kQueries + ".qweight").dtype = DType::kF32; },
          kQueries + ".qweight"),
      packed(
          "ScalesAreIntegers", [](TinyModel& m) { m.at(kQueries + ".scales").dtype = DType::kI16; },
          kQueries + ".scales"),
      packed(
          "FloatsAndIntegers",
          [](TinyModel& m) {
            m.add(kQueries + ".weight", DType::kBF16, {64, 16});
          },
          kQueries + ".weight"),
      packed(
          "NotDeclared", [](TinyModel& m) { m.config.erase("quantization_config"); }, kExpert + ".qweight"),
      packed(
          "LeftOutByRule",
          [](TinyModel& m) {
            m.config["quantization_config"]["dynamic"] = {{"-:.*self_attn", Json::object()}};
          },
          kQueries + ".qweight"),
      packed(
          "BitsOfRule",
          [](TinyModel& m) {
            m.config["quantization_config"]["dynamic"] = {{"+:.*self_attn", {{"bits", 2}}}};
          },
          kQueries + ".qweight"),
      packed(
          "NormAsIntegers",
          [](TinyModel& m) {
            m.remove("model.language_model.norm.weight");
            m.add("model.language_model.norm.qweight", DType::kI32, {2, 1});
          },
          "model.language_model.norm.weight"),
      packed(
          "GroupIndexTooLarge", [](TinyModel& m) { set_first<int32_t>(m.at(kQueries + ".g_idx"), 2); },
          kQueries + ".g_idx", "layers.1.self_attn.q_proj"),
      packed(
          "GroupIndexNegative", [](TinyModel& m) { set_first<int32_t>(m.at(kExpert + ".g_idx"), -1); },
          kExpert + ".g_idx", "layers.0.mlp.experts.1.up_proj"),
      packed(
          "ScaleNotANumber", [](TinyModel& m) { set_first<uint16_t>(m.at(kQueries + ".scales"), 0x7e00); },
          kQueries + ".scales", "layers.1.self_attn.q_proj"),
      packed(
          "ScaleInfinite", [](TinyModel& m) { set_first<uint16_t>(m.at(kQueries + ".scales"), 0xfc00); },
          kQueries + ".scales", "layers.1.self_attn.q_proj"),
  };
}

Broken quantization(std::string name, const std::string& key, const Json& value) {
  return {std::move(name),
          [key, value](TinyModel& m) {
            m.config["quantization_config"] = gptq_config(4, 8);
            m.config["quantization_config"][key] = value;
          },
          "", ""};
}

std::vector<Broken> broken_quantization_configs() {
  return {
      {"IsText", [](TinyModel& m) { m.config["quantization_config"] = "gptq"; }, "", ""},
      quantization("OtherMethod", "quant_method", "awq"),
      quantization("NoMethod", "quant_method", nullptr),
      quantization("FiveBits", "bits", 5),
      quantization("BitsAreText", "bits", "4"),
      quantization("NoBits", "bits", nullptr),
      quantization("GroupSizeZero", "group_size", 0),
      quantization("GroupSizeAt64Bits", "group_size", ~0ULL),
      quantization("PlanarFormat", "checkpoint_format", "gptq_p"),
      quantization("FormatsDisagree", "format", "gptq"),
      quantization("OtherWordSize", "pack_dtype", "int16"),
      quantization("SymIsNumber", "sym", 1),
      quantization("RulesAreList", "dynamic", Json::array({1})),
      quantization("RuleIsNumber", "dynamic", {{"+:.*", 4}}),
      quantization("RuleBitsInvalid", "dynamic", {{"+:.*", {{"bits", 7}}}}),
      quantization("RuleNotARegularExpression", "dynamic", {{"-:.*(", Json::object()}}),
      quantization("RuleTooLong", "dynamic", {{"-:" + std::string(2000, 'a'), Json::object()}}),
  };
}

std::string name_of_case(const ::testing::TestParamInfo<Broken>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Inventory, BrokenModel, ::testing::ValuesIn(broken_inventories()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Integers, BrokenModel, ::testing::ValuesIn(broken_integers()), name_of_case);
INSTANTIATE_TEST_SUITE_P(QuantizationConfig, BrokenModel, ::testing::ValuesIn(broken_quantization_configs()),
                         name_of_case);

// A pattern whose matching would take exponential time must end soon, as an error.
TEST(BrokenPattern, ExponentialRepetitionIsCutShort) {
  const Pattern pattern("(a|aa)+[bc]", "config.json");
  EXPECT_THROW(pattern.matches(std::string(60, 'a')), Error);
  EXPECT_TRUE(pattern.matches("aaab and more"));
  EXPECT_FALSE(pattern.matches("xaab"));
}

}  // namespace
}  // namespace tercet::testing
