#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

std::vector<float> floats_of(const CanonicalMatrix& matrix) {
  std::vector<float> values(static_cast<size_t>(rows_of(matrix) * cols_of(matrix)));
  for (int64_t row = 0; row < rows_of(matrix); ++row) {
    row_to_floats(matrix, row, values.data() + row * cols_of(matrix));
  }
  return values;
}

std::unique_ptr<Checkpoint> written(const TinyModel& model, const TempFolder& folder, size_t files = 1,
                                    bool index = false) {
  model.write(folder, files, index);
  return Checkpoint::open(folder.path());
}

const std::vector<std::string> kMatrices = {"embed_tokens",
                                            "lm_head",
                                            "layers.0.linear_attn.in_proj_qkv",
                                            "layers.0.mlp.gate",
                                            "layers.0.mlp.shared_expert_gate",
                                            "layers.0.mlp.experts.0.gate_proj",
                                            "layers.0.mlp.experts.2.up_proj",
                                            "layers.1.mlp.experts.1.down_proj",
                                            "layers.1.self_attn.q_proj",
                                            "mtp.fc",
                                            "mtp.layers.0.mlp.experts.2.down_proj"};

const std::vector<std::string> kValues = {"norm.weight", "layers.0.linear_attn.A_log",
                                          "layers.0.linear_attn.conv1d.weight",
                                          "layers.1.self_attn.k_norm.weight", "mtp.norm.weight"};

/// Both checkpoints hold the same model.
void expect_same(const Checkpoint& a, const Checkpoint& b) {
  for (const std::string& module : kMatrices) {
    EXPECT_EQ(rows_of(a.matrix(module)), rows_of(b.matrix(module))) << module;
    EXPECT_EQ(floats_of(a.matrix(module)), floats_of(b.matrix(module))) << module;
  }
  for (const std::string& tensor : kValues) EXPECT_EQ(a.values(tensor), b.values(tensor)) << tensor;
}

TEST(Checkpoint, ReadsWhatTheFileHolds) {
  TinyModel model = tiny_moe();
  const TempFolder folder;
  const auto checkpoint = written(model, folder);
  const RawTensor& fused = model.at("model.language_model.layers.0.mlp.experts.gate_up_proj");  // [3, 16, 16]
  const auto stored = [&](int64_t index) {
    float value = 0;
    to_floats(fused.dtype, reinterpret_cast<const std::byte*>(fused.bytes.data()) + index * 2, 1, &value);
    return value;
  };
  const CanonicalMatrix gate = checkpoint->matrix("layers.0.mlp.experts.2.gate_proj");
  const CanonicalMatrix up = checkpoint->matrix("layers.0.mlp.experts.2.up_proj");
  ASSERT_EQ(rows_of(gate), 8);
  ASSERT_EQ(cols_of(up), 16);
  EXPECT_EQ(floats_of(gate)[3 * 16 + 5], stored((2 * 16 + 3) * 16 + 5));
  EXPECT_EQ(floats_of(up)[3 * 16 + 5], stored((2 * 16 + 8 + 3) * 16 + 5));
  EXPECT_EQ(checkpoint->values("layers.0.linear_attn.conv1d.weight").size(), 64U * 4U);
  checkpoint->drop_pages();
  EXPECT_EQ(floats_of(up)[3 * 16 + 5], stored((2 * 16 + 8 + 3) * 16 + 5));
}

TEST(Checkpoint, LayoutsOfTheSameModelAgree) {
  const TempFolder plain_folder, shard_folder, index_folder, loose_folder, text_folder, split_folder;
  TinyModel model = tiny_moe();
  const auto plain = written(model, plain_folder);
  expect_same(*plain, *written(model, shard_folder, 4));
  expect_same(*plain, *written(model, index_folder, 1, true));

  model.write(loose_folder, 3);
  std::filesystem::remove(loose_folder / "model.safetensors.index.json");
  expect_same(*plain, *Checkpoint::open(loose_folder.path()));

  model.split_experts();
  expect_same(*plain, *written(model, split_folder));

  model.rename("model.language_model.", "model.");
  model.config = model.config["text_config"];
  std::erase_if(model.tensors,
                [](const RawTensor& tensor) { return tensor.name.starts_with("model.visual."); });
  const auto text = written(model, text_folder);
  EXPECT_EQ(text->config().architecture, "Qwen3_5MoeForCausalLM");
  expect_same(*plain, *text);
}

TEST(Checkpoint, AnyFloatTypeForAnyTensor) {
  TinyModel model = tiny_moe();
  const TempFolder folder, mixed_folder;
  const auto plain = written(model, folder);
  size_t count = 0;
  for (const RawTensor& tensor : std::vector<RawTensor>(model.tensors)) {
    ++count;
    if (count % 3 != 0) model.convert(tensor.name, count % 3 == 1 ? DType::kF32 : DType::kF16);
  }
  // Values of at most eight significant bits between 2^-10 and 1: exact in all three types.
  expect_same(*plain, *written(model, mixed_folder));
}

TEST(Checkpoint, DraftLayerAndVisionMayBeAbsentWhole) {
  TinyModel model = tiny_moe();
  std::erase_if(model.tensors, [](const RawTensor& t) {
    return t.name.starts_with("mtp.") || t.name.starts_with("model.visual.");
  });
  const TempFolder folder;
  const auto checkpoint = written(model, folder);
  EXPECT_EQ(checkpoint->config().mtp_layers, 0);
  EXPECT_FALSE(checkpoint->config().vision);
  EXPECT_THROW(checkpoint->matrix("mtp.fc"), Error);
  EXPECT_THROW(checkpoint->values("mtp.norm.weight"), Error);
}

TEST(Checkpoint, TiedHeadIsTheEmbedding) {
  for (const bool at_top : {true, false}) {
    TinyModel model = tiny_dense();
    (at_top ? model.config : model.config["text_config"])["tie_word_embeddings"] = true;
    const TempFolder folder, stored_folder;
    const auto stored = written(model, stored_folder);
    EXPECT_FALSE(stored->config().tie_word_embeddings) << "a head that is stored is used";
    EXPECT_NE(floats_of(stored->matrix("lm_head")), floats_of(stored->matrix("embed_tokens")));
    model.remove("lm_head.weight");
    const auto checkpoint = written(model, folder);
    EXPECT_TRUE(checkpoint->config().tie_word_embeddings);
    EXPECT_EQ(floats_of(checkpoint->matrix("lm_head")), floats_of(checkpoint->matrix("embed_tokens")));
  }
}

TEST(Checkpoint, Dense) {
  const TempFolder folder;
  const auto checkpoint = written(tiny_dense(), folder);
  EXPECT_FALSE(checkpoint->config().is_moe());
  EXPECT_EQ(rows_of(checkpoint->matrix("layers.1.mlp.up_proj")), 20);
  EXPECT_EQ(rows_of(checkpoint->matrix("mtp.layers.0.mlp.down_proj")), 16);
  EXPECT_THROW(checkpoint->matrix("layers.0.mlp.experts.0.up_proj"), Error);
  EXPECT_THROW(checkpoint->matrix("layers.0.mlp.experts.x.up_proj"), Error);
  EXPECT_THROW(checkpoint->matrix("nothing"), Error);
}

TEST(Checkpoint, UnalignedDataIsRead) {
  TinyModel model = tiny_moe();
  const TempFolder folder, moved_folder;
  const auto plain = written(model, folder);
  model.write(moved_folder);
  const std::string content = read_file(moved_folder / "model.safetensors");
  uint64_t length = 0;
  content.copy(reinterpret_cast<char*>(&length), sizeof(length));
  const std::string header = content.substr(8, length);
  const std::string padding((length % 2 == 0) ? 1 : 2, ' ');  // data begins at an odd byte
  write_file(moved_folder / "model.safetensors",
             safetensors_bytes(header + padding, content.substr(8 + length)));
  expect_same(*plain, *Checkpoint::open(moved_folder.path()));
}

TEST(Checkpoint, MissingFolderIsAnIoError) {
  try {
    Checkpoint::open("/nonexistent/model");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(error.context().file, "/nonexistent/model");
  }
}

class Published : public ::testing::TestWithParam<std::string> {};

std::string published_folder(const std::string& name) {
  if (name == "nano") return std::string(TERCET_SOURCE_DIR) + "/models/nano";
  const char* data = std::getenv("TERCET_TEST_DATA");
  return data == nullptr ? "" : std::string(data) + "/models/" + name;
}

TEST_P(Published, Opens) {
  const std::string folder = published_folder(GetParam());
  if (folder.empty()) GTEST_SKIP() << "TERCET_TEST_DATA names no folder with models/" << GetParam();
  const auto checkpoint = Checkpoint::open(folder);
  EXPECT_EQ(checkpoint->config().mtp_layers, 1);
  EXPECT_TRUE(checkpoint->config().vision);
  EXPECT_EQ(checkpoint->config().layers[3], LayerType::kGatedAttention);
  EXPECT_EQ(static_cast<int64_t>(checkpoint->inventory().size()), checkpoint->tensors().count());
  EXPECT_EQ(rows_of(checkpoint->matrix("layers.3.mlp.experts.15.down_proj")),
            checkpoint->config().hidden_size);
}

INSTANTIATE_TEST_SUITE_P(Models, Published, ::testing::Values("nano", "mini"));

}  // namespace
}  // namespace tercet::testing
