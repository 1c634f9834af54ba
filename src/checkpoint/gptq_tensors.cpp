#include "checkpoint/gptq_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/float_types.h"
#include "format/gptq.h"

namespace tercet {
namespace {

[[noreturn]] void fail(const std::string& what, const StoredTensor& tensor, const std::string& expected,
                       const std::string& found) {
  throw Error(
      ErrorKind::kCheckpoint, what + "; fetch the file again",
      {.file = std::string(tensor.file), .tensor = tensor.name, .expected = expected, .found = found});
}

/// Stored [groups, rows], wanted [rows, groups].
std::vector<float> read_scales(const StoredTensor& tensor, int64_t rows, int64_t groups) {
  std::vector<float> stored(static_cast<size_t>(rows * groups));
  to_floats(tensor.dtype, tensor.data, rows * groups, stored.data());
  std::vector<float> scales(stored.size());
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t n = 0; n < rows; ++n) {
      const float scale = stored[static_cast<size_t>(g * rows + n)];
      if (!std::isfinite(scale)) {
        fail("a scale is not finite", tensor, "finite scales",
             std::to_string(scale) + " for group " + std::to_string(g) + " of output " + std::to_string(n));
      }
      scales[static_cast<size_t>(n * groups + g)] = scale;
    }
  }
  return scales;
}

/// Empty where it is k / group_size.
std::vector<int32_t> read_group_index(const StoredTensor& tensor, int64_t cols, int64_t groups,
                                      int64_t group_size) {
  std::vector<int32_t> index(static_cast<size_t>(cols));
  std::memcpy(index.data(), tensor.data, index.size() * sizeof(int32_t));
  bool in_order = true;
  for (int64_t k = 0; k < cols; ++k) {
    const int32_t group = index[static_cast<size_t>(k)];
    if (group < 0 || group >= groups) {
      fail("a group index is out of range", tensor, "0 to " + std::to_string(groups - 1),
           std::to_string(group) + " for input " + std::to_string(k));
    }
    in_order = in_order && group == k / group_size;
  }
  if (in_order) index.clear();
  return index;
}

/// Whether zeros are stored minus one. Published symmetric files say one thing and hold the other, so the
/// data decides where it can: all fields of a symmetric matrix are 2^(b - 1), or one less.
bool zeros_are_v1(const std::vector<uint8_t>& fields, const ModuleQuantization& packed, bool declared) {
  const int middle = 1 << (packed.bits - 1);
  const auto all = [&](int value) {
    return std::all_of(fields.begin(), fields.end(), [value](uint8_t field) { return field == value; });
  };
  if (packed.sym && all(middle - 1)) return true;
  if (packed.sym && all(middle)) return false;
  return declared;
}

/// True zeros; empty where all are 2^(b - 1).
std::vector<uint8_t> read_zeros(const GptqModule& module, int64_t rows, int64_t groups) {
  const int bits = module.packed.bits;
  std::vector<uint8_t> zeros(static_cast<size_t>(rows * groups));
  unpack_gptq_zeros({module.qzeros.data, static_cast<size_t>(module.qzeros.bytes)}, rows, groups, bits,
                    zeros);
  const bool v1 = zeros_are_v1(zeros, module.packed, module.v1);
  bool symmetric = true;
  for (uint8_t& zero : zeros) {
    zero = gptq_true_zero(zero, bits, v1);
    symmetric = symmetric && zero == 1 << (bits - 1);
  }
  if (symmetric) zeros.clear();
  return zeros;
}

template <class T>
TensorData tensor_of(std::string suffix, DType dtype, std::vector<int64_t> shape,
                     const std::vector<T>& values) {
  TensorData tensor{std::move(suffix), dtype, std::move(shape),
                    std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace

QuantizedMatrix read_gptq(const GptqModule& module) {
  QuantizedMatrix matrix;
  matrix.bits = module.packed.bits;
  matrix.rows = module.qweight.shape[1];
  matrix.cols = module.g_idx.shape[0];
  matrix.group_size =
      module.packed.group_size < 0 ? matrix.cols : std::min(module.packed.group_size, matrix.cols);
  matrix.codes.resize(static_cast<size_t>(matrix.rows * matrix.cols));
  unpack_gptq_weights({module.qweight.data, static_cast<size_t>(module.qweight.bytes)}, matrix.rows,
                      matrix.cols, matrix.bits, matrix.codes);
  matrix.scales = read_scales(module.scales, matrix.rows, matrix.groups());
  matrix.zeros = read_zeros(module, matrix.rows, matrix.groups());
  matrix.group_index = read_group_index(module.g_idx, matrix.cols, matrix.groups(), matrix.group_size);
  return matrix;
}

std::vector<TensorData> gptq_tensors(const QuantizedMatrix& matrix, bool v1) {
  TERCET_CHECK(is_gptq_bits(matrix.bits));
  const int64_t groups = matrix.groups();
  std::vector<uint8_t> fields(static_cast<size_t>(matrix.rows * groups));
  std::vector<uint16_t> scales(fields.size());
  for (int64_t n = 0; n < matrix.rows; ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      const size_t own = static_cast<size_t>(n * groups + g);
      const float scale = matrix.scales[own];
      fields[own] = gptq_zero_field(matrix.zero_of(n, g), matrix.bits, v1);
      scales[static_cast<size_t>(g * matrix.rows + n)] = float_to_fp16(scale);
      TERCET_CHECK_EQ(fp16_to_float(float_to_fp16(scale)), scale);
    }
  }
  std::vector<int32_t> index(static_cast<size_t>(matrix.cols));
  for (int64_t k = 0; k < matrix.cols; ++k)
    index[static_cast<size_t>(k)] = static_cast<int32_t>(matrix.group_of(k));
  return {tensor_of(".qweight", DType::kI32, {packed_words(matrix.cols, matrix.bits), matrix.rows},
                    pack_gptq_weights(matrix.codes, matrix.rows, matrix.cols, matrix.bits)),
          tensor_of(".qzeros", DType::kI32, {groups, packed_words(matrix.rows, matrix.bits)},
                    pack_gptq_zeros(fields, matrix.rows, groups, matrix.bits)),
          tensor_of(".scales", DType::kF16, {groups, matrix.rows}, scales),
          tensor_of(".g_idx", DType::kI32, {matrix.cols}, index)};
}

}  // namespace tercet
