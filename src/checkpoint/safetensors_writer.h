#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/dtype.h"

namespace tercet {

/// A tensor to be written; the bytes are little-endian, row-major, as long as dtype and shape say.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes one safetensors file durably (whole or not at all). Equal input gives equal bytes: tensors are
/// stored by falling element size, which aligns each, then in the order given. Throws Error(kIo).
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors);

/// Writes a model's tensors as `model-00001-of-000NN.safetensors` and `model.safetensors.index.json`. Memory
/// stays constant: data goes to the disk as it comes and is put behind its header when its shard is full.
class ShardWriter {
 public:
  /// Writes into `folder`, which must exist; a shard holds at most `shard_bytes` of data unless one tensor is
  /// larger.
  ShardWriter(std::string folder, int64_t shard_bytes);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// Adds a tensor, in this order, every name once; `bytes` is needed only during the call.
  void add(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
           std::span<const std::byte> bytes);

  /// Writes the last shard, names all and writes the index. Returns the bytes of all tensors.
  int64_t finish();

 private:
  struct Stored {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    int64_t offset;  // in the data file of the open shard
    int64_t bytes;
  };

  std::string data_path() const;
  std::string shard_path(size_t number) const;
  void close_shard();

  std::string folder_;
  int64_t shard_bytes_;
  int data_fd_ = -1;
  int64_t size_ = 0;  // of the open shard
  std::vector<Stored> open_;
  std::vector<std::vector<std::string>> names_;  // of each closed shard
  int64_t total_ = 0;
};

}  // namespace tercet
