#include "ops/host_matrix.h"

#include <algorithm>
#include <cmath>

#include "base/float_types.h"

namespace tercet {

double HostMatrix::largest() const {
  double result = 0;
  for (const float value : values) result = std::max(result, std::abs(static_cast<double>(value)));
  return result;
}

HostMatrix random_matrix(SplitMix64& random, int64_t rows, int64_t cols, double size) {
  HostMatrix matrix(rows, cols);
  for (float& value : matrix.values) {
    value = static_cast<float>(size * (random.uniform() + random.uniform() + random.uniform() - 1.5) * 2.0);
  }
  return matrix;
}

QuantizedMatrix random_quantized(SplitMix64& random, int bits, int64_t rows, int64_t cols, int64_t group_size,
                                 bool zeros, bool shuffled) {
  QuantizedMatrix matrix;
  matrix.bits = bits;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.group_size = group_size < 0 ? cols : group_size;
  matrix.codes.resize(static_cast<size_t>(rows * cols));
  for (uint8_t& code : matrix.codes) code = static_cast<uint8_t>(random.below(1ULL << bits));
  matrix.scales.resize(static_cast<size_t>(rows * matrix.groups()));
  for (float& scale : matrix.scales)
    scale = fp16_to_float(float_to_fp16(static_cast<float>(0.01 + 0.02 * random.uniform())));
  if (zeros) {
    matrix.zeros.resize(matrix.scales.size());
    for (uint8_t& zero : matrix.zeros) zero = static_cast<uint8_t>(random.below(1ULL << bits));
  }
  if (shuffled) {
    for (int64_t k = 0; k < cols; ++k)
      matrix.group_index.push_back(static_cast<int32_t>(k / matrix.group_size));
    for (int64_t k = cols - 1; k > 0; --k) {
      std::swap(matrix.group_index[static_cast<size_t>(k)],
                matrix.group_index[random.below(static_cast<uint64_t>(k) + 1)]);
    }
  }
  return matrix;
}

TensorView Exchange::empty(int64_t rows, int64_t cols, DType dtype) {
  TensorView view{nullptr, dtype, rows, cols};
  buffers_.push_back(backend_.allocate(view.bytes()));
  view.data = buffers_.back().get();
  return view;
}

TensorView Exchange::put(const HostMatrix& matrix) {
  const TensorView view = empty(matrix.rows, matrix.cols);
  backend_.upload(view.data, matrix.values.data(), view.bytes());
  return view;
}

TensorView Exchange::put_indices(const std::vector<int32_t>& values, int64_t cols) {
  const TensorView view = empty(static_cast<int64_t>(values.size()) / cols, cols, DType::kI32);
  backend_.upload(view.data, values.data(), view.bytes());
  return view;
}

HostMatrix Exchange::get(const TensorView& view) {
  HostMatrix matrix(view.rows, view.cols);
  backend_.download(matrix.values.data(), view.data, view.bytes());
  return matrix;
}

std::vector<int32_t> Exchange::get_indices(const TensorView& view) {
  std::vector<int32_t> values(static_cast<size_t>(view.count()));
  backend_.download(values.data(), view.data, view.bytes());
  return values;
}

std::vector<int8_t> Exchange::get_codes(const TensorView& view) {
  std::vector<int8_t> values(static_cast<size_t>(view.count()));
  backend_.download(values.data(), view.data, view.bytes());
  return values;
}

Weight Exchange::weight(const CanonicalMatrix& matrix) {
  return backend_.prepare(1, [&](int64_t) { return matrix; });
}

DenseMatrix dense(const HostMatrix& matrix) {
  return {DType::kF32, matrix.rows, matrix.cols, reinterpret_cast<const std::byte*>(matrix.values.data())};
}

}  // namespace tercet
