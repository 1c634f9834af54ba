#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tercet {

/// Element types of safetensors files, with their names there ("BF16", "F8_E4M3", ...).
enum class DType {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64
};

/// Bytes of one element.
int64_t size_of(DType dtype);

/// The safetensors name.
std::string_view name_of(DType dtype);

/// The type of a safetensors name; empty if unknown.
std::optional<DType> dtype_of(std::string_view name);

/// Whether `to_floats` reads it: F16, BF16, F32, F64, F8_E4M3.
bool is_float(DType dtype);

/// Converts `count` elements of a float type to fp32 (F64 rounds, the others are exact). `source` needs no
/// alignment.
void to_floats(DType dtype, const std::byte* source, int64_t count, float* out);

}  // namespace tercet
