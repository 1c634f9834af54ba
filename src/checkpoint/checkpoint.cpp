#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "checkpoint/gptq_tensors.h"
#include "checkpoint/strict_json.h"
#include "checkpoint/verify_tensors.h"

namespace tercet {
namespace {

constexpr int64_t kMaxConfigBytes = 16'000'000;
constexpr const char* kNestedPrefix = "model.language_model.";

bool has_prefix(const SafetensorsFolder& tensors, const std::string& prefix) {
  return std::any_of(tensors.files().begin(), tensors.files().end(), [&](const SafetensorsFile& file) {
    return std::any_of(file.tensors().begin(), file.tensors().end(),
                       [&](const StoredTensor& tensor) { return tensor.name.starts_with(prefix); });
  });
}

std::string read_config(const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder)) {
    throw Error(ErrorKind::kIo, "there is no such model folder",
                {.file = folder, .expected = "a folder", .found = fs::exists(folder) ? "a file" : "nothing"});
  }
  if (!fs::exists(path)) {
    throw Error(ErrorKind::kCheckpoint, "the model folder has no configuration; fetch it",
                {.file = path, .expected = "config.json", .found = "no such file"});
  }
  return read_text_file(path, kMaxConfigBytes);
}

DenseMatrix dense(const StoredTensor& tensor, int64_t first_row, int64_t rows, int64_t cols) {
  return {tensor.dtype, rows, cols, tensor.data + first_row * cols * size_of(tensor.dtype)};
}

}  // namespace

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& folder) {
  std::unique_ptr<Checkpoint> result(new Checkpoint);
  Checkpoint& c = *result;
  const std::string config_path = folder + "/config.json";
  const std::string config_text = read_config(folder, config_path);
  c.folder_ = folder;
  c.config_ = parse_model_config(config_text, config_path);
  c.quantization_ = parse_quantization_config(config_text, config_path);
  c.tensors_ = SafetensorsFolder::open(folder);
  c.prefix_ = has_prefix(c.tensors_, kNestedPrefix) ? kNestedPrefix : "model.";
  // Text-only copies leave the draft layer and the vision tower out, whole, and keep the configuration. A
  // head that is stored is used, also where the configuration says that it is tied.
  if (!has_prefix(c.tensors_, "mtp.")) c.config_.mtp_layers = 0;
  if (!has_prefix(c.tensors_, "model.visual.")) c.config_.vision.reset();
  if (has_prefix(c.tensors_, "lm_head.")) c.config_.tie_word_embeddings = false;
  c.expected_ = expected_tensors(c.config_);
  c.found_ = verify_tensors({c.expected_, c.tensors_, c.quantization_, c.folder_, c.prefix_});
  return result;
}

std::string Checkpoint::disk_name(const std::string& canonical) const {
  return name_on_disk(canonical, prefix_);
}

CanonicalMatrix Checkpoint::matrix(const std::string& module) const {
  if (module == "lm_head" && config_.tie_word_embeddings) return matrix("embed_tokens");
  const std::string name = disk_name(module);
  if (const StoredTensor* tensor = tensors_.find(name + ".weight");
      tensor != nullptr && tensor->shape.size() == 2) {
    return dense(*tensor, 0, tensor->shape[0], tensor->shape[1]);
  }
  if (tensors_.find(name + ".qweight") != nullptr) return quantized_matrix(name);
  return fused_expert(name);
}

CanonicalMatrix Checkpoint::quantized_matrix(const std::string& name) const {
  const std::optional<ModuleQuantization> packed = quantization_->of(name);
  return read_gptq({.qweight = *tensors_.find(name + ".qweight"),
                    .qzeros = *tensors_.find(name + ".qzeros"),
                    .scales = *tensors_.find(name + ".scales"),
                    .g_idx = *tensors_.find(name + ".g_idx"),
                    .packed = *packed,
                    .v1 = quantization_->gptq_v1});
}

/// `name` is ".../mlp.experts.5.gate_proj" of a fused tensor.
CanonicalMatrix Checkpoint::fused_expert(const std::string& name) const {
  const size_t dot = name.rfind('.');
  const size_t before = dot == std::string::npos || dot == 0 ? std::string::npos : name.rfind('.', dot - 1);
  if (before != std::string::npos) {
    const std::string expert = name.substr(before + 1, dot - before - 1);
    const std::string which = name.substr(dot + 1);
    const std::string base = name.substr(0, before + 1);
    const StoredTensor* fused = tensors_.find(base + (which == "down_proj" ? "down_proj" : "gate_up_proj"));
    const bool numeric =
        !expert.empty() && expert.size() <= 9 && expert.find_first_not_of("0123456789") == std::string::npos;
    if (fused != nullptr && fused->shape.size() == 3 && numeric && std::stoll(expert) < fused->shape[0]) {
      const int64_t rows = fused->shape[1];
      const int64_t first = std::stoll(expert) * rows;
      const int64_t cols = fused->shape[2];
      if (which == "down_proj") return dense(*fused, first, rows, cols);
      if (which == "gate_proj") return dense(*fused, first, rows / 2, cols);
      if (which == "up_proj") return dense(*fused, first + rows / 2, rows / 2, cols);
    }
  }
  throw Error(ErrorKind::kCheckpoint, "the checkpoint has no such matrix",
              {.file = folder_, .tensor = name, .expected = "a matrix of the model", .found = "none"});
}

std::vector<float> Checkpoint::values(const std::string& tensor) const {
  const std::string name = disk_name(tensor);
  const StoredTensor* stored = tensors_.find(name);
  if (stored == nullptr || !is_float(stored->dtype)) {
    throw Error(ErrorKind::kCheckpoint, "the checkpoint has no such float tensor",
                {.file = folder_,
                 .tensor = name,
                 .expected = "a float tensor of the model",
                 .found = stored == nullptr ? "none" : std::string(name_of(stored->dtype))});
  }
  std::vector<float> result(static_cast<size_t>(stored->elements()));
  to_floats(stored->dtype, stored->data, stored->elements(), result.data());
  return result;
}

void Checkpoint::drop_pages() const {
  tensors_.drop_pages();
}

}  // namespace tercet
