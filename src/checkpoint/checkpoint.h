#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/quantization_config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/verify_tensors.h"
#include "checkpoint/weight_source.h"

namespace tercet {

/// A model folder in Hugging Face layout: config.json, safetensors shards (with or without an index),
/// BF16/F16/F32 or GPTQ. Opening checks that every tensor that the configuration implies is there with
/// exactly its shape and that every tensor that is there is known; a missing or unknown one is an
/// Error(kCheckpoint) with file, tensor, expected, found.
class Checkpoint final : public WeightSource {
 public:
  static std::unique_ptr<Checkpoint> open(const std::string& folder);

  const ModelConfig& config() const override { return config_; }
  CanonicalMatrix matrix(const std::string& module) const override;
  std::vector<float> values(const std::string& tensor) const override;
  void drop_pages() const override;

  const std::string& folder() const { return folder_; }
  const SafetensorsFolder& tensors() const { return tensors_; }
  const std::optional<QuantizationConfig>& quantization() const { return quantization_; }
  /// Every tensor of the inventory with where it lies; a fused tensor stored as one matrix an expert appears
  /// as many.
  const std::vector<FoundTensor>& inventory() const { return found_; }
  /// The name on disk of a canonical tensor name ("layers.0.input_layernorm.weight").
  std::string disk_name(const std::string& canonical) const;

 private:
  Checkpoint() = default;
  CanonicalMatrix quantized_matrix(const std::string& name) const;
  CanonicalMatrix fused_expert(const std::string& name) const;

  std::string folder_;
  std::string prefix_;  // "model.language_model." or "model."
  ModelConfig config_;
  std::optional<QuantizationConfig> quantization_;
  SafetensorsFolder tensors_;
  std::vector<TensorSpec> expected_;  // what found_ points into
  std::vector<FoundTensor> found_;
};

}  // namespace tercet
