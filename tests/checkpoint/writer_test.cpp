#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Writer, FileHoldsTheTensorsAligned) {
  const TempFolder folder;
  const std::string odd = "abcdef", words = "0123456789abcdef", one = "x";
  const std::vector<TensorToWrite> tensors = {{"odd", DType::kBF16, {3}, bytes_of(odd)},
                                              {"words", DType::kI32, {2, 2}, bytes_of(words)},
                                              {"empty", DType::kF32, {0, 4}, {}},
                                              {"one \"quoted\" \xc3\xa9", DType::kU8, {1}, bytes_of(one)}};
  write_safetensors(folder / "a.safetensors", tensors);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.safetensors.tmp"));
  const SafetensorsFile file(folder / "a.safetensors");
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const TensorToWrite& tensor : tensors) {
    const StoredTensor* stored = file.find(tensor.name);
    ASSERT_NE(stored, nullptr) << tensor.name;
    EXPECT_EQ(stored->dtype, tensor.dtype);
    EXPECT_EQ(stored->shape, tensor.shape);
    ASSERT_EQ(static_cast<size_t>(stored->bytes), tensor.bytes.size());
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), stored->data));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(stored->data) % static_cast<uintptr_t>(size_of(tensor.dtype)), 0U);
  }
  const std::string content = read_file(folder / "a.safetensors");
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"words":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[16,16]},"odd":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
      "\"one \\\"quoted\\\" \xc3\xa9\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[22,23]}}";
  EXPECT_EQ(content.substr(8, header.size()), header);
  EXPECT_EQ(content.size() % 8, (16 + 6 + 1) % 8U);
}

TEST(Writer, AWrittenModelIsTheSameCheckpointAndAlwaysTheSameBytes) {
  const TinyModel model = tiny_moe();
  const TempFolder folder;
  std::vector<TensorToWrite> tensors;
  for (const RawTensor& tensor : model.tensors) {
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, bytes_of(tensor.bytes)});
  }
  write_file(folder / "config.json", model.config.dump());
  write_safetensors(folder / "model.safetensors", tensors);
  const std::string first = read_file(folder / "model.safetensors");
  write_safetensors(folder / "model.safetensors", tensors);
  EXPECT_EQ(read_file(folder / "model.safetensors"), first);
  const auto checkpoint = Checkpoint::open(folder.path());
  for (const RawTensor& tensor : model.tensors) {
    const StoredTensor* stored = checkpoint->tensors().find(tensor.name);
    ASSERT_NE(stored, nullptr);
    const std::string bytes(reinterpret_cast<const char*>(stored->data), static_cast<size_t>(stored->bytes));
    EXPECT_EQ(bytes, tensor.bytes);
  }
}

}  // namespace
}  // namespace tercet::testing
