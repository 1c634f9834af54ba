#include "checkpoint/tiny_model.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "base/float_types.h"
#include "checkpoint/gptq_tensors.h"

namespace tercet::testing {
namespace {

std::string random_bf16(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
    const uint16_t bits = float_to_bf16(value);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  return bytes;
}

int64_t product(const std::vector<int64_t>& shape) {
  int64_t result = 1;
  for (const int64_t size : shape) result *= size;
  return result;
}

Json text_config(bool moe) {
  Json text = {{"model_type", moe ? "qwen3_5_moe_text" : "qwen3_5_text"},
               {"attention_bias", false},
               {"attn_output_gate", true},
               {"full_attention_interval", 2},
               {"head_dim", 8},
               {"hidden_act", "silu"},
               {"hidden_size", 16},
               {"layer_types", {"linear_attention", "full_attention"}},
               {"linear_conv_kernel_dim", 4},
               {"linear_key_head_dim", 4},
               {"linear_num_key_heads", 2},
               {"linear_num_value_heads", 6},
               {"linear_value_head_dim", 8},
               {"max_position_embeddings", 64},
               {"mtp_num_hidden_layers", 1},
               {"num_attention_heads", 4},
               {"num_hidden_layers", 2},
               {"num_key_value_heads", 2},
               {"rms_norm_eps", 1e-6},
               {"tie_word_embeddings", false},
               {"vocab_size", 24},
               {"rope_parameters",
                {{"partial_rotary_factor", 0.25}, {"rope_theta", 10000000}, {"rope_type", "default"}}}};
  if (moe) {
    text.update({{"moe_intermediate_size", 8},
                 {"num_experts", 3},
                 {"num_experts_per_tok", 2},
                 {"shared_expert_intermediate_size", 10}});
  } else {
    text["intermediate_size"] = 20;
  }
  return text;
}

TinyModel build(bool moe) {
  TinyModel model;
  model.config = {
      {"architectures", {moe ? "Qwen3_5MoeForConditionalGeneration" : "Qwen3_5ForConditionalGeneration"}},
      {"model_type", moe ? "qwen3_5_moe" : "qwen3_5"},
      {"tie_word_embeddings", false},
      {"text_config", text_config(moe)}};
  if (moe) {
    model.config["vision_config"] = {{"depth", 1},
                                     {"hidden_size", 8},
                                     {"intermediate_size", 12},
                                     {"num_heads", 2},
                                     {"in_channels", 3},
                                     {"patch_size", 2},
                                     {"spatial_merge_size", 2},
                                     {"temporal_patch_size", 2},
                                     {"out_hidden_size", 16},
                                     {"num_position_embeddings", 4},
                                     {"deepstack_visual_indexes", Json::array()}};
  }
  for (const TensorSpec& spec : expected_tensors(parse_model_config(model.config.dump(), "config.json"))) {
    const bool top_level = spec.name.starts_with("lm_head") || spec.name.starts_with("mtp.");
    const char* prefix = top_level                          ? ""
                         : spec.name.starts_with("visual.") ? "model."
                                                            : "model.language_model.";
    model.add(prefix + spec.name, DType::kBF16, spec.shape);
  }
  return model;
}

}  // namespace

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tercet-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

RawTensor& TinyModel::at(const std::string& name) {
  for (RawTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

void TinyModel::remove(const std::string& name) {
  at(name);
  std::erase_if(tensors, [&](const RawTensor& tensor) { return tensor.name == name; });
}

void TinyModel::add(const std::string& name, DType dtype, std::vector<int64_t> shape) {
  const int64_t bytes = product(shape) * size_of(dtype);
  const auto seed = static_cast<uint32_t>(std::hash<std::string>()(name));
  tensors.push_back({name, dtype, std::move(shape),
                     random_bf16((bytes + 1) / 2, seed).substr(0, static_cast<size_t>(bytes))});
}

void TinyModel::rename(const std::string& from, const std::string& to) {
  for (RawTensor& tensor : tensors) {
    if (tensor.name.starts_with(from)) tensor.name = to + tensor.name.substr(from.size());
  }
}

void TinyModel::split_experts() {
  std::vector<RawTensor> result;
  for (const RawTensor& tensor : tensors) {
    const size_t place = tensor.name.find(".experts.");
    if (place == std::string::npos) {
      result.push_back(tensor);
      continue;
    }
    const std::string base = tensor.name.substr(0, place + 9);
    const bool down = tensor.name.ends_with("down_proj");
    const int64_t rows = down ? tensor.shape[1] : tensor.shape[1] / 2;
    const auto size = static_cast<size_t>(rows * tensor.shape[2] * size_of(tensor.dtype));
    size_t offset = 0;
    for (int64_t e = 0; e < tensor.shape[0]; ++e) {
      for (const char* part : {"gate_proj", "up_proj"}) {
        const std::string name = base + std::to_string(e) + "." + (down ? "down_proj" : part) + ".weight";
        result.push_back({name, tensor.dtype, {rows, tensor.shape[2]}, tensor.bytes.substr(offset, size)});
        offset += size;
        if (down) break;
      }
    }
  }
  tensors = std::move(result);
}

QuantizedMatrix TinyModel::quantize(const std::string& module, int bits, int64_t group_size, bool v1,
                                    bool symmetric) {
  const std::vector<int64_t> shape = at(module + ".weight").shape;
  remove(module + ".weight");
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(module)));
  QuantizedMatrix matrix{.bits = bits,
                         .rows = shape[0],
                         .cols = shape[1],
                         .group_size = group_size < 0 ? shape[1] : group_size,
                         .codes = {},
                         .scales = {},
                         .zeros = {},
                         .group_index = {}};
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
    matrix.codes.push_back(static_cast<uint8_t>(random() >> (32 - bits)));
  for (int64_t i = 0; i < shape[0] * matrix.groups(); ++i) {
    matrix.scales.push_back(static_cast<float>(1 + random() % 1000) / 1024);
    if (!symmetric) matrix.zeros.push_back(static_cast<uint8_t>(random() >> (32 - bits)));
  }
  for (TensorData& tensor : gptq_tensors(matrix, v1)) {
    tensors.push_back({module + tensor.suffix, tensor.dtype, tensor.shape,
                       std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())});
  }
  return matrix;
}

void TinyModel::convert(const std::string& name, DType dtype) {
  RawTensor& tensor = at(name);
  std::vector<float> values(static_cast<size_t>(product(tensor.shape)));
  to_floats(tensor.dtype, reinterpret_cast<const std::byte*>(tensor.bytes.data()), product(tensor.shape),
            values.data());
  tensor.dtype = dtype;
  tensor.bytes.clear();
  for (const float value : values) {
    const uint16_t half = float_to_fp16(value);
    if (dtype == DType::kF16) tensor.bytes.append(reinterpret_cast<const char*>(&half), sizeof(half));
    if (dtype == DType::kF32) tensor.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
}

void TinyModel::write(const TempFolder& folder, size_t files, bool index) const {
  write_file(folder / "config.json", config.dump(1));
  Json weight_map;
  for (size_t f = 0; f < files; ++f) {
    const std::string name = files == 1 ? "model.safetensors"
                                        : "model-0000" + std::to_string(f + 1) + "-of-0000" +
                                              std::to_string(files) + ".safetensors";
    Json header = {{"__metadata__", {{"format", "pt"}}}};
    std::string data;
    for (size_t i = f * tensors.size() / files; i < (f + 1) * tensors.size() / files; ++i) {
      const RawTensor& tensor = tensors[i];
      header[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                             {"shape", tensor.shape},
                             {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
      data += tensor.bytes;
      weight_map[tensor.name] = name;
    }
    write_file(folder / name, safetensors_bytes(header.dump(), data));
  }
  if (files == 1 && !index) return;
  size_t total = 0;
  for (const RawTensor& tensor : tensors) total += tensor.bytes.size();
  const Json root = {{"metadata", {{"total_size", static_cast<double>(total)}}}, {"weight_map", weight_map}};
  write_file(folder / "model.safetensors.index.json", root.dump(1));
}

TinyModel tiny_moe() {
  return build(true);
}
TinyModel tiny_dense() {
  return build(false);
}

void set_text(TinyModel& model, const std::string& key, const Json& value) {
  model.config["text_config"][key] = value;
}

Json gptq_config(int bits, int64_t group_size) {
  return {{"quant_method", "gptq"}, {"bits", bits}, {"group_size", group_size},
          {"desc_act", false},      {"sym", true},  {"checkpoint_format", "gptq_v2"}};
}

}  // namespace tercet::testing
