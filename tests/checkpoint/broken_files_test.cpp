// Broken safetensors files, indexes and folders: each is a valid tiny model with one thing wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <ostream>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tiny_model.h"

namespace tercet::testing {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kNorm = "model.language_model.norm.weight";

struct Broken {
  std::string name;
  std::function<void(const TempFolder&)> break_it;  // what is wrong with a written model of one file
  std::string file;                                 // part of what the error must name
  std::string tensor;                               // likewise; empty: no tensor can be named
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) {
  return out << broken.name;
}

class BrokenFile : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenFile, IsRefused) {
  const TempFolder folder;
  tiny_moe().write(folder);
  ASSERT_NO_THROW(Checkpoint::open(folder.path()));
  GetParam().break_it(folder);
  try {
    Checkpoint::open(folder.path());
    FAIL() << "the broken checkpoint was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint) << error.what();
    EXPECT_NE(error.context().file.find(GetParam().file), std::string::npos) << error.what();
    EXPECT_NE(error.context().tensor.find(GetParam().tensor), std::string::npos) << error.what();
    EXPECT_EQ(error.context().tensor.empty(), GetParam().tensor.empty()) << error.what();
    EXPECT_FALSE(error.context().expected.empty()) << error.what();
    EXPECT_FALSE(error.context().found.empty()) << error.what();
  }
}

/// A change of the bytes of the only file.
Broken bytes(std::string name, std::function<void(std::string&)> change, std::string tensor = "") {
  return {std::move(name),
          [change](const TempFolder& folder) {
            std::string content = read_file(folder / "model.safetensors");
            change(content);
            write_file(folder / "model.safetensors", content);
          },
          "model.safetensors", std::move(tensor)};
}

/// A change of the parsed header; its data stays.
Broken header(std::string name, std::function<void(Json&)> change, std::string tensor = kNorm) {
  return bytes(
      std::move(name),
      [change](std::string& content) {
        uint64_t length = 0;
        content.copy(reinterpret_cast<char*>(&length), sizeof(length));
        Json root = Json::parse(content.substr(8, length));
        change(root);
        content = safetensors_bytes(root.dump(), content.substr(8 + length));
      },
      std::move(tensor));
}

/// Another header text over the same data.
Broken header_text(std::string name, const std::string& text, std::string tensor = "") {
  return bytes(
      std::move(name), [text](std::string& content) { content = safetensors_bytes(text, content); },
      std::move(tensor));
}

std::vector<Broken> broken_headers() {
  const auto entry = [](const std::string& properties) { return "{\"a\":{" + properties + "}}"; };
  return {
      bytes("EmptyFile", [](std::string& c) { c.clear(); }),
      bytes("SevenBytes", [](std::string& c) { c.resize(7); }),
      bytes("CutInsideHeader", [](std::string& c) { c.resize(100); }),
      bytes("HeaderLengthHuge", [](std::string& c) { c.replace(0, 8, 8, '\xff'); }),
      bytes("HeaderOver100MB",
            [](std::string& c) { c.replace(0, 8, std::string("\x01\xe1\xf5\x05\0\0\0\0", 8)); }),
      bytes("HeaderLengthZero", [](std::string& c) { c.replace(0, 8, 8, '\0'); }),
      header_text("HeaderNotJson", "{\"a\": }"),
      header_text("HeaderIsList", "[]"),
      header_text("HeaderIsCut", "{\"a\""),
      header_text("HeaderHasTrailingText", "{} x"),
      header_text("HeaderNotUtf8", "{\"\xff\xfe\":{}}"),
      header_text("NestedDeeply", "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", "a"),
      header_text("TensorIsNumber", "{\"a\":1}", "a"),
      header_text("TensorIsNull", "{\"a\":null}", "a"),
      header_text("NameTooLong", "{\"" + std::string(5000, 'n') + "\":{}}"),
      header_text("DtypeUnknown", entry(R"("dtype":"Q7","shape":[],"data_offsets":[0,1])"), "a"),
      header_text("DtypeIsNumber", entry(R"("dtype":4,"shape":[],"data_offsets":[0,1])"), "a"),
      header_text("ShapeIsText", entry(R"("dtype":"U8","shape":"1","data_offsets":[0,1])"), "a"),
      header_text("ShapeNegative", entry(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), "a"),
      header_text("ShapeFractional", entry(R"("dtype":"U8","shape":[1.0],"data_offsets":[0,1])"), "a"),
      header_text("ShapeHasTrue", entry(R"("dtype":"U8","shape":[true],"data_offsets":[0,1])"), "a"),
      header_text("ShapeNested", entry(R"("dtype":"U8","shape":[[1]],"data_offsets":[0,1])"), "a"),
      header_text("ShapeHasNineDimensions",
                  entry(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1])"), "a"),
      header_text("ShapePasses64Bits",
                  entry(R"("dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1])"), "a"),
      header_text("ShapeProductOverflows",
                  entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), "a"),
      header_text("OneOffset", entry(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), "a"),
      header_text("ThreeOffsets", entry(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,2])"), "a"),
      header_text("OffsetNegative", entry(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])"), "a"),
      header_text("PropertyMissing", entry(R"("dtype":"U8","shape":[1])"), "a"),
      header_text("PropertyUnknown", entry(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1)"), "a"),
      header_text("PropertyTwice", entry(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])"),
                  "a"),
      header_text("MetadataIsList", R"({"__metadata__":[]})"),
      header_text("MetadataValueIsNumber", R"({"__metadata__":{"format":1}})"),
      header_text("MetadataNested", R"({"__metadata__":{"format":{}}})"),
      header_text("MetadataKeyTwice", R"({"__metadata__":{"a":"x","a":"y"}})"),
      header_text(
          "NameTwice",
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "a"),
  };
}

std::vector<Broken> broken_layouts() {
  const auto shift = [](int64_t begin, int64_t end) {
    return [begin, end](Json& root) {
      Json& offsets = root[kNorm]["data_offsets"];
      offsets = {offsets[0].get<int64_t>() + begin, offsets[1].get<int64_t>() + end};
    };
  };
  return {
      header("OffsetsBackwards", shift(40, 0)),
      header("OffsetsOverlap", shift(-2, -2)),
      header(
          "OffsetsLeaveGap",
          [](Json& root) { root.erase("model.language_model.layers.0.input_layernorm.weight"); }, "layers.0"),
      header(
          "OffsetsLeaveGapAtStart",
          [](Json& root) { root.erase("model.language_model.embed_tokens.weight"); }, "layers.0"),
      header("OffsetsPassTheFile",
             [](Json& root) {
               root[kNorm]["data_offsets"] = {0, 1ULL << 62U};
             }),
      header("OffsetsAt64Bits",
             [](Json& root) {
               root[kNorm]["data_offsets"] = {~0ULL - 31, ~0ULL};
             }),
      header("DtypeDisagreesWithLength", [](Json& root) { root[kNorm]["dtype"] = "F32"; }),
      header("ShapeDisagreesWithLength", [](Json& root) { root[kNorm]["shape"] = {15}; }),
      header("SizeZeroDimension",
             [](Json& root) {
               root[kNorm]["shape"] = {16, 0};
             }),
      bytes(
          "Truncated", [](std::string& c) { c.pop_back(); }, "model.visual"),
      bytes(
          "TruncatedToHeader",
          [](std::string& c) {
            uint64_t length = 0;
            c.copy(reinterpret_cast<char*>(&length), sizeof(length));
            c.resize(8 + length);
          },
          "model.language_model"),
      bytes(
          "TrailingGarbage", [](std::string& c) { c += "x"; }, "model.visual"),
  };
}

/// A change of a model of three shards with an index.
Broken shards(std::string name, std::function<void(const TempFolder&, Json&)> change, std::string tensor,
              std::string file = kIndex) {
  return {std::move(name),
          [change](const TempFolder& folder) {
            std::filesystem::remove(folder / "model.safetensors");
            tiny_moe().write(folder, 3);
            ASSERT_NO_THROW(Checkpoint::open(folder.path()));
            Json index = Json::parse(read_file(folder / kIndex));
            change(folder, index);
            if (!index.is_null()) write_file(folder / kIndex, index.dump());
          },
          std::move(file), std::move(tensor)};
}

std::vector<Broken> broken_folders() {
  const std::string second = "model-00002-of-00003.safetensors";
  return {
      {"NoConfig", [](const TempFolder& f) { std::filesystem::remove(f / "config.json"); }, "config.json",
       ""},
      {"NoWeights", [](const TempFolder& f) { std::filesystem::remove(f / "model.safetensors"); }, "", ""},
      {"TensorInTwoFiles",
       [](const TempFolder& f) { write_file(f / "other.safetensors", read_file(f / "model.safetensors")); },
       "other.safetensors", "model."},
      shards(
          "ShardMissing", [=](const TempFolder& f, Json&) { std::filesystem::remove(f / second); },
          ".weight"),
      shards(
          "ShardMissingWithoutIndex",
          [=](const TempFolder& f, Json& index) {
            std::filesystem::remove(f / second);
            std::filesystem::remove(f / kIndex);
            index = nullptr;
          },
          "model.", ""),
      shards(
          "ShardNotInIndex", [](const TempFolder& f, Json&) { write_file(f / "model-x.safetensors", ""); },
          ""),
      shards(
          "IndexNamesMissingTensor",
          [=](const TempFolder&, Json& index) { index["weight_map"]["extra.weight"] = second; },
          "extra.weight", second),
      shards(
          "IndexLacksTensor", [](const TempFolder&, Json& index) { index["weight_map"].erase(kNorm); },
          kNorm),
      shards(
          "IndexNamesOtherShard",
          [](const TempFolder&, Json& index) {
            index["weight_map"][kNorm] = "model-00001-of-00003.safetensors";
          },
          kNorm),
      shards(
          "IndexLeavesTheFolder",
          [](const TempFolder&, Json& index) { index["weight_map"][kNorm] = "../model.safetensors"; }, kNorm),
      shards(
          "IndexNamesNumber", [](const TempFolder&, Json& index) { index["weight_map"][kNorm] = 3; }, kNorm),
      shards(
          "IndexWithoutMap", [](const TempFolder&, Json& index) { index.erase("weight_map"); }, ""),
      shards(
          "IndexMapEmpty", [](const TempFolder&, Json& index) { index["weight_map"] = Json::object(); }, ""),
      shards(
          "IndexTotalSizeIsText",
          [](const TempFolder&, Json& index) { index["metadata"]["total_size"] = "big"; }, ""),
      shards(
          "IndexNotJson",
          [](const TempFolder& f, Json& index) {
            write_file(f / kIndex, "{\"weight_map\": {");
            index = nullptr;
          },
          ""),
      shards(
          "IndexKeyTwice",
          [](const TempFolder& f, Json& index) {
            write_file(f / kIndex, R"({"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}})");
            index = nullptr;
          },
          ""),
  };
}

std::string name_of_case(const ::testing::TestParamInfo<Broken>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Header, BrokenFile, ::testing::ValuesIn(broken_headers()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Layout, BrokenFile, ::testing::ValuesIn(broken_layouts()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Folder, BrokenFile, ::testing::ValuesIn(broken_folders()), name_of_case);

}  // namespace
}  // namespace tercet::testing
