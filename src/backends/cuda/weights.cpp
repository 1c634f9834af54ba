#include "backends/cuda/weights.h"

#include <cstring>
#include <string>
#include <utility>

namespace tercet::cuda {
namespace {

constexpr size_t kAlignment = 256;

/// The parts of one matrix, one after another in one piece of host memory, to be uploaded at once.
class Blob {
 public:
  /// Room for `bytes` more, zeroed and aligned; returns where it begins.
  size_t reserve(size_t bytes) {
    const size_t begin = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(begin + bytes);
    return begin;
  }
  template <class T>
  size_t append(const std::vector<T>& values) {
    const size_t begin = reserve(values.size() * sizeof(T));
    std::memcpy(bytes_.data() + begin, values.data(), values.size() * sizeof(T));
    return begin;
  }
  std::byte* at(size_t begin) { return bytes_.data() + begin; }

  DeviceMemory upload(cudaStream_t stream) const {
    DeviceMemory memory = device_memory(static_cast<int64_t>(bytes_.size()));
    check(cudaMemcpyAsync(memory.get(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return memory;
  }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  std::vector<std::byte> bytes_;
};

/// Code k of a row is the bits from k * bits on, low bits first; a row ends with a word that only the last
/// code's read touches.
void pack_codes(const QuantizedMatrix& matrix, int32_t row_words, uint32_t* words) {
  for (int64_t row = 0; row < matrix.rows; ++row) {
    uint32_t* out = words + row * row_words;
    const uint8_t* codes = matrix.codes.data() + row * matrix.cols;
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const int64_t bit = k * matrix.bits;
      const uint64_t shifted = static_cast<uint64_t>(codes[k]) << (bit % 32);
      out[bit / 32] |= static_cast<uint32_t>(shifted);
      out[bit / 32 + 1] |= static_cast<uint32_t>(shifted >> 32);
    }
  }
}

template <class T>
const T* device_pointer(const DeviceMemory& memory, size_t begin) {
  return reinterpret_cast<const T*>(static_cast<const std::byte*>(memory.get()) + begin);
}

struct Uploaded {
  DeviceMemory memory;
  MatrixView view;
  int64_t bytes;
};

Uploaded upload_dense(const DenseMatrix& matrix, cudaStream_t stream) {
  MatrixView view;
  view.cols = static_cast<int32_t>(matrix.cols);
  view.bits = matrix.dtype == DType::kBF16 ? 16 : 32;
  const size_t count = static_cast<size_t>(matrix.rows * matrix.cols);
  Blob blob;
  blob.reserve(count * static_cast<size_t>(view.bits / 8));
  if (view.bits == 16) {
    std::memcpy(blob.at(0), matrix.data, count * sizeof(uint16_t));
  } else {
    to_floats(matrix.dtype, matrix.data, matrix.rows * matrix.cols, reinterpret_cast<float*>(blob.at(0)));
  }
  DeviceMemory memory = blob.upload(stream);
  view.data = memory.get();
  return {std::move(memory), view, blob.size()};
}

Uploaded upload_quantized(const QuantizedMatrix& matrix, cudaStream_t stream) {
  MatrixView view;
  view.bits = matrix.bits;
  view.cols = static_cast<int32_t>(matrix.cols);
  view.groups = static_cast<int32_t>(matrix.groups());
  view.group_size = static_cast<int32_t>(matrix.group_size);
  view.row_words = static_cast<int32_t>((matrix.cols * matrix.bits + 31) / 32 + 1);
  Blob blob;
  blob.reserve(static_cast<size_t>(matrix.rows) * static_cast<size_t>(view.row_words) * sizeof(uint32_t));
  pack_codes(matrix, view.row_words, reinterpret_cast<uint32_t*>(blob.at(0)));
  const size_t scales = blob.append(matrix.scales);
  const size_t zeros = blob.append(matrix.zeros);
  const size_t group_index = blob.append(matrix.group_index);
  DeviceMemory memory = blob.upload(stream);
  view.data = memory.get();
  view.scales = device_pointer<float>(memory, scales);
  if (!matrix.zeros.empty()) view.zeros = device_pointer<uint8_t>(memory, zeros);
  if (!matrix.group_index.empty()) view.group_index = device_pointer<int32_t>(memory, group_index);
  return {std::move(memory), view, blob.size()};
}

Uploaded upload_matrix(const CanonicalMatrix& matrix, cudaStream_t stream) {
  if (const auto* dense = std::get_if<DenseMatrix>(&matrix)) return upload_dense(*dense, stream);
  return upload_quantized(std::get<QuantizedMatrix>(matrix), stream);
}

std::string kernel_of(const MatrixView& view) {
  const std::string warp = "one warp an output, fp32 sums";
  if (view.bits == 32) return "f32, " + warp + ": the plain kernel";
  if (view.bits == 16) return "bf16, " + warp + ": the plain kernel";
  return std::to_string(view.bits) + "-bit codes dequantized to fp32, " + warp +
         ": the plain kernel, which has no integer products";
}

}  // namespace

Weight prepare_weight(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix,
                      cudaStream_t stream) {
  auto weight = std::make_shared<CudaWeight>();
  std::vector<MatrixView> views;
  for (int64_t i = 0; i < count; ++i) {
    const CanonicalMatrix canonical = matrix(i);
    if (i == 0) {
      weight->rows = rows_of(canonical);
      weight->cols = cols_of(canonical);
    }
    TERCET_CHECK_EQ(rows_of(canonical), weight->rows);
    TERCET_CHECK_EQ(cols_of(canonical), weight->cols);
    Uploaded uploaded = upload_matrix(canonical, stream);
    weight->bytes += uploaded.bytes;
    weight->matrices.push_back(std::move(uploaded.memory));
    views.push_back(uploaded.view);
  }
  Blob blob;
  blob.append(views);
  weight->views = blob.upload(stream);
  weight->count = count;
  weight->kernel = kernel_of(views[0]);
  return weight;
}

}  // namespace tercet::cuda
