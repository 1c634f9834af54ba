#include "format/matrix.h"

namespace tercet {

void QuantizedMatrix::row_to_floats(int64_t row, float* out) const {
  const uint8_t* code = codes.data() + row * cols;
  const float* scale = scales.data() + row * groups();
  for (int64_t k = 0; k < cols; ++k) {
    const int64_t group = group_of(k);
    out[k] = scale[group] * static_cast<float>(static_cast<int>(code[k]) - zero_of(row, group));
  }
}

int64_t rows_of(const CanonicalMatrix& matrix) {
  return std::visit([](const auto& m) { return m.rows; }, matrix);
}

int64_t cols_of(const CanonicalMatrix& matrix) {
  return std::visit([](const auto& m) { return m.cols; }, matrix);
}

void row_to_floats(const CanonicalMatrix& matrix, int64_t row, float* out) {
  std::visit([&](const auto& m) { m.row_to_floats(row, out); }, matrix);
}

}  // namespace tercet
