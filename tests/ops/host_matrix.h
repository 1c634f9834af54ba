#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "ops/backend.h"

namespace tercet {

/// A float matrix in host memory.
struct HostMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> values;

  HostMatrix() = default;
  HostMatrix(int64_t r, int64_t c) : rows(r), cols(c), values(static_cast<size_t>(r * c)) {}

  std::span<const float> row(int64_t i) const {
    return {values.data() + i * cols, static_cast<size_t>(cols)};
  }
  double largest() const;
};

/// Values of about unit size, roughly normal.
HostMatrix random_matrix(SplitMix64& random, int64_t rows, int64_t cols, double size = 1.0);

/// Random codes of every value, fp16 scales, and where asked zeros or a group index that is a random
/// permutation of k / group_size.
QuantizedMatrix random_quantized(SplitMix64& random, int bits, int64_t rows, int64_t cols, int64_t group_size,
                                 bool zeros, bool shuffled);

/// Puts host values into a backend's memory and brings them back; buffers live as long as it does.
class Exchange {
 public:
  explicit Exchange(Backend& backend) : backend_(backend) {}

  TensorView put(const HostMatrix& matrix);
  TensorView put_indices(const std::vector<int32_t>& values, int64_t cols);
  TensorView empty(int64_t rows, int64_t cols, DType dtype = DType::kF32);
  HostMatrix get(const TensorView& view);
  std::vector<int32_t> get_indices(const TensorView& view);
  std::vector<int8_t> get_codes(const TensorView& view);
  Weight weight(const CanonicalMatrix& matrix);

 private:
  Backend& backend_;
  std::vector<Buffer> buffers_;
};

DenseMatrix dense(const HostMatrix& matrix);

}  // namespace tercet
