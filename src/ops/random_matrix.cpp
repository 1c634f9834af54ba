#include "ops/random_matrix.h"

#include <cmath>

#include "base/float_types.h"
#include "base/random.h"
#include "ops/backend.h"

namespace tercet {

CanonicalMatrix random_matrix(const SyntheticSpec& spec, int64_t index, std::vector<uint16_t>& storage) {
  SplitMix64 random(mix64(spec.seed) + static_cast<uint64_t>(index));
  const int64_t count = spec.rows * spec.cols;
  const float size = 1.0F / std::sqrt(static_cast<float>(spec.cols));
  if (spec.bits == 16) {
    storage.resize(static_cast<size_t>(count));
    for (uint16_t& value : storage) {
      value = float_to_bf16(size * static_cast<float>(3.46 * (random.uniform() - 0.5)));  // variance 1 / cols
    }
    return DenseMatrix{DType::kBF16, spec.rows, spec.cols,
                       reinterpret_cast<const std::byte*>(storage.data())};
  }
  QuantizedMatrix matrix;
  matrix.bits = spec.bits;
  matrix.rows = spec.rows;
  matrix.cols = spec.cols;
  matrix.group_size = spec.group_size < 0 ? spec.cols : spec.group_size;
  matrix.codes.resize(static_cast<size_t>(count));
  for (uint8_t& code : matrix.codes) code = static_cast<uint8_t>(random.next() >> (64 - spec.bits));
  const float step = 3.46F * size / static_cast<float>(1 << spec.bits);
  matrix.scales.resize(static_cast<size_t>(spec.rows * matrix.groups()));
  for (float& scale : matrix.scales) {
    scale = fp16_to_float(float_to_fp16(step * static_cast<float>(0.75 + 0.5 * random.uniform())));
  }
  return matrix;
}

}  // namespace tercet
