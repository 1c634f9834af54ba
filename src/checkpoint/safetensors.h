#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "format/dtype.h"

namespace tercet {

/// A tensor as it lies in a file: a view, valid as long as the file is open.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;  // little-endian, row-major, any alignment
  int64_t bytes = 0;
  std::string_view file;  // path

  int64_t elements() const { return bytes / size_of(dtype); }
};

/// "[512, 1, 4]".
std::string to_string(const std::vector<int64_t>& shape);

/// Reads the untrusted bytes of a safetensors file: tensors in the order of their data. The header must be at
/// most 100 MB, name every tensor once, and its byte ranges must cover the data exactly, without gap or
/// overlap, each as long as its dtype and shape say. Throws Error(kCheckpoint) with file, tensor, expected,
/// found. `file` names the bytes.
std::vector<StoredTensor> parse_safetensors(std::span<const std::byte> bytes, std::string_view file);

/// One safetensors file, mapped.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return map_->path(); }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(std::string_view name) const;
  void drop_pages() const { map_->drop_pages(); }

 private:
  std::unique_ptr<MappedFile> map_;  // the views name its path, so it must not move
  std::vector<StoredTensor> tensors_;
};

/// All safetensors files of a model folder: those that `model.safetensors.index.json` names, or, without an
/// index, every
/// `*.safetensors`. The index must name exactly the tensors that the files hold; no tensor may be stored
/// twice.
class SafetensorsFolder {
 public:
  SafetensorsFolder() = default;
  /// Throws Error(kCheckpoint) on anything wrong in the files, Error(kIo) if they cannot be read.
  static SafetensorsFolder open(const std::string& folder);

  const std::vector<SafetensorsFile>& files() const { return files_; }
  int64_t count() const { return static_cast<int64_t>(by_name_.size()); }
  /// Null if there is no such tensor.
  const StoredTensor* find(std::string_view name) const;
  void drop_pages() const;

 private:
  std::vector<SafetensorsFile> files_;
  std::unordered_map<std::string_view, const StoredTensor*> by_name_;
};

}  // namespace tercet
