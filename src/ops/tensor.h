#pragma once

#include <cstdint>

#include "base/check.h"
#include "format/dtype.h"

namespace tercet {

/// A row-major matrix [rows, cols] in a backend's memory, not owned: fp32 activations, or int32 indices.
/// Only the backend that owns the memory may read `data`.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;

  int64_t count() const { return rows * cols; }
  int64_t bytes() const { return count() * size_of(dtype); }

  float* f32() const {
    TERCET_CHECK(dtype == DType::kF32);
    return static_cast<float*>(data);
  }
  int32_t* i32() const {
    TERCET_CHECK(dtype == DType::kI32);
    return static_cast<int32_t*>(data);
  }
  int8_t* i8() const {
    TERCET_CHECK(dtype == DType::kI8);
    return static_cast<int8_t*>(data);
  }
  /// The first `n` rows.
  TensorView first_rows(int64_t n) const {
    TERCET_CHECK_LE(n, rows);
    return {data, dtype, n, cols};
  }
};

}  // namespace tercet
