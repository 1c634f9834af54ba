#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "format/dtype.h"

namespace tercet {

/// A view of a row-major float matrix [rows, cols], y = W x with rows outputs and cols inputs; usually mapped
/// from a file.
struct DenseMatrix {
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  const std::byte* data = nullptr;  // needs no alignment

  /// Row `row` as fp32 into out [cols].
  void row_to_floats(int64_t row, float* out) const {
    to_floats(dtype, data + row * cols * size_of(dtype), cols, out);
  }
};

/// The one logical form of every integer format (GPTQ, AWQ, compressed-tensors):
///   W[n][k] = scales[n][g] * (codes[n][k] - zeros[n][g]),  g = group_of(k).
struct QuantizedMatrix {
  int bits = 0;                // 2 to 8
  int64_t rows = 0;            // N, outputs
  int64_t cols = 0;            // K, inputs
  int64_t group_size = 0;      // columns that share a scale; cols where one scale serves the row
  std::vector<uint8_t> codes;  // [rows, cols], 0 ... 2^bits - 1
  std::vector<float> scales;   // [rows, groups], exactly as stored (fp16 or bf16)
  std::vector<uint8_t> zeros;  // [rows, groups], the true zero; empty: 2^(bits - 1) everywhere (symmetric)
  std::vector<int32_t> group_index;  // [cols] group of each column; empty: k / group_size

  int64_t groups() const { return (cols + group_size - 1) / group_size; }
  int64_t group_of(int64_t col) const {
    return group_index.empty() ? col / group_size : group_index[static_cast<size_t>(col)];
  }
  int zero_of(int64_t row, int64_t group) const {
    return zeros.empty() ? 1 << (bits - 1) : zeros[static_cast<size_t>(row * groups() + group)];
  }
  /// Row `row` dequantized into out [cols]: the product of the stored scale and the integer, rounded once to
  /// fp32.
  void row_to_floats(int64_t row, float* out) const;
};

/// What a backend reads once, at load, to prepare a weight.
using CanonicalMatrix = std::variant<DenseMatrix, QuantizedMatrix>;

int64_t rows_of(const CanonicalMatrix& matrix);
int64_t cols_of(const CanonicalMatrix& matrix);

/// Row `row` as fp32 into out [cols], whatever the form.
void row_to_floats(const CanonicalMatrix& matrix, int64_t row, float* out);

}  // namespace tercet
