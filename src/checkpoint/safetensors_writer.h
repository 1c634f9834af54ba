#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/dtype.h"

namespace tercet {

/// A tensor to be written; the bytes are little-endian, row-major, as many as dtype and shape say.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes one safetensors file durably (whole or not at all). Equal input gives equal bytes: tensors are
/// stored by falling element size, which aligns each, then in the order given. Every name once. Throws
/// Error(kIo).
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors);

}  // namespace tercet
