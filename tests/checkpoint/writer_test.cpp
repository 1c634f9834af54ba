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

std::string all_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path().string());
  }
  std::string text;
  for (const auto& [name, content] : files) text += name + "\n" + content;
  return text;
}

int64_t write_shards(const TinyModel& model, const std::string& folder, int64_t shard_bytes) {
  ShardWriter writer(folder, shard_bytes);
  for (const RawTensor& tensor : model.tensors) {
    const std::string copy = tensor.bytes;  // gone after the call
    writer.add(tensor.name, tensor.dtype, tensor.shape, bytes_of(copy));
  }
  return writer.finish();
}

TEST(Writer, ShardsAreACheckpointAndAlwaysTheSame) {
  TinyModel model = tiny_moe();
  for (const int64_t limit : {int64_t{1}, int64_t{2000}, int64_t{1} << 40}) {
    const TempFolder first, second;
    write_file(first / "config.json", model.config.dump());
    write_file(second / "config.json", model.config.dump());
    const int64_t total = write_shards(model, first.path(), limit);
    write_shards(model, second.path(), limit);
    EXPECT_EQ(all_files(first.path()), all_files(second.path()));
    const auto checkpoint = Checkpoint::open(first.path());
    int64_t sum = 0;
    for (const RawTensor& tensor : model.tensors) {
      const StoredTensor* stored = checkpoint->tensors().find(tensor.name);
      ASSERT_NE(stored, nullptr);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(stored->data), static_cast<size_t>(stored->bytes)),
                tensor.bytes);
      sum += stored->bytes;
    }
    EXPECT_EQ(total, sum);
    const size_t files = checkpoint->tensors().files().size();
    if (limit == 1) {
      EXPECT_EQ(files, model.tensors.size());
    }
    if (limit == 2000) {
      EXPECT_GT(files, 2U);
    }
    if (limit > 2000) {
      EXPECT_EQ(files, 1U);
    }
    for (const SafetensorsFile& file : checkpoint->tensors().files()) {
      int64_t bytes = 0;
      for (const StoredTensor& tensor : file.tensors()) bytes += tensor.bytes;
      EXPECT_TRUE(bytes <= limit || file.tensors().size() == 1) << file.path();
    }
  }
}

TEST(Writer, AnAbandonedShardLeavesNothing) {
  const TempFolder folder;
  {
    ShardWriter writer(folder.path(), 100);
    writer.add("a", DType::kU8, {3}, bytes_of("abc"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tercet::testing
