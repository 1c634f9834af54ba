#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/inventory.h"
#include "format/dtype.h"
#include "format/matrix.h"

namespace tercet::testing {

using Json = nlohmann::ordered_json;

/// A folder that goes with its object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

struct RawTensor {
  std::string name;  // on disk
  DType dtype = DType::kBF16;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// A file in safetensors layout whose header is any text.
std::string safetensors_bytes(const std::string& header, const std::string& data);

/// A whole model of a few kilobytes with random weights, in the published layout, to be changed and written.
struct TinyModel {
  Json config;
  std::vector<RawTensor> tensors;

  RawTensor& at(const std::string& name);
  void remove(const std::string& name);
  void add(const std::string& name, DType dtype, std::vector<int64_t> shape);
  /// Renames every tensor that begins with `from`.
  void rename(const std::string& from, const std::string& to);
  /// Puts every expert's matrices of fused tensors under their own names, the values unchanged.
  void split_experts();
  /// Replaces a float matrix by random integers in the GPTQ container; returns what they stand for.
  QuantizedMatrix quantize(const std::string& module, int bits, int64_t group_size, bool v1,
                           bool symmetric = true);
  void convert(const std::string& name, DType dtype);

  /// Writes config.json and `files` shards; more than one, or `index`, have an index.
  void write(const TempFolder& folder, size_t files = 1, bool index = false) const;
};

/// Mixture of experts with MTP block and vision tower.
TinyModel tiny_moe();
/// Dense, with MTP block, no vision tower.
TinyModel tiny_dense();

/// Sets text_config's `key`.
void set_text(TinyModel& model, const std::string& key, const Json& value);

/// The `quantization_config` of GPTQ version 2.
Json gptq_config(int bits, int64_t group_size);

}  // namespace tercet::testing
