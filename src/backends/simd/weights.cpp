#include "backends/simd/weights.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/simd/memory.h"
#include "base/float_types.h"

namespace tercet::simd {
namespace {

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int bits_of(Codes codes) {
  switch (codes) {
    case Codes::kBf16:
      return 16;
    case Codes::kF32:
      return 32;
    case Codes::kInt2:
      return 2;
    case Codes::kInt3:
      return 3;
    case Codes::kInt4:
      return 4;
    case Codes::kInt8:
      return 8;
  }
  return 0;
}

constexpr int64_t block_bytes(int bits) {
  return kLanes * kBlock * bits / 8;
}
static_assert(block_bytes(2) == 128 && block_bytes(3) == 192 && block_bytes(4) == 256 &&
              block_bytes(8) == 512);

int64_t scale_bytes(ScaleType type) {
  return type == ScaleType::kF32 ? 4 : 2;
}

bool is_dense(Codes codes) {
  return codes == Codes::kBf16 || codes == Codes::kF32;
}

bool is_bf16(float value) {
  return (std::bit_cast<uint32_t>(value) & 0xffffU) == 0;
}

bool is_fp16(float value) {
  return std::bit_cast<uint32_t>(fp16_to_float(float_to_fp16(value))) == std::bit_cast<uint32_t>(value);
}

/// The codes of a block's 32 columns, for the output whose lane starts at `lane`.
void put_codes(Codes codes, const uint8_t* c, uint8_t* lane) {
  const auto put = [&](int64_t row, int64_t byte, int bits) {
    lane[64 * row + byte] = static_cast<uint8_t>(bits);
  };
  for (int64_t byte = 0; byte < 4; ++byte, ++c) {  // of every row; c[4 * unit] meets it
    if (codes == Codes::kInt8) {
      for (int64_t row = 0; row < 8; ++row) put(row, byte, c[4 * row]);
    } else if (codes == Codes::kInt4) {
      for (int64_t row = 0; row < 4; ++row) put(row, byte, c[8 * row] | c[8 * row + 4] << 4);
    } else {
      for (int64_t row = 0; row < 2; ++row) {
        const uint8_t* r = c + 16 * row;
        put(row, byte, (r[0] & 3) | (r[4] & 3) << 2 | (r[8] & 3) << 4 | (r[12] & 3) << 6);
      }
      int high = 0;
      for (int unit = 0; unit < 8; ++unit) high |= c[4 * unit] >> 2 << unit;
      if (codes == Codes::kInt3) put(2, byte, high);
    }
  }
}

int get_code(Codes codes, const uint8_t* lane, int64_t k) {
  const int64_t unit = k / 4;
  const int64_t byte = k % 4;
  if (codes == Codes::kInt8) return lane[64 * unit + byte];
  if (codes == Codes::kInt4) return lane[64 * (unit / 2) + byte] >> (4 * (unit % 2)) & 15;
  const int low = lane[64 * (unit / 4) + byte] >> (2 * (unit % 4)) & 3;
  return codes == Codes::kInt2 ? low : low | (lane[128 + byte] >> unit & 1) << 2;
}

void put_scale(ScaleType type, uint8_t* panel, int64_t index, float scale) {
  if (type == ScaleType::kF32) {
    std::memcpy(panel + 4 * index, &scale, 4);
  } else {
    const uint16_t half = type == ScaleType::kF16 ? float_to_fp16(scale) : float_to_bf16(scale);
    std::memcpy(panel + 2 * index, &half, 2);
  }
}

float get_scale(ScaleType type, const uint8_t* panel, int64_t index) {
  if (type == ScaleType::kF32) {
    float scale;
    std::memcpy(&scale, panel + 4 * index, 4);
    return scale;
  }
  uint16_t half;
  std::memcpy(&half, panel + 2 * index, 2);
  return type == ScaleType::kF16 ? fp16_to_float(half) : bf16_to_float(half);
}

void put_value(Codes codes, uint8_t* panel, int64_t lane, int64_t k, float value) {
  if (codes == Codes::kF32) {
    std::memcpy(panel + (k * kLanes + lane) * 4, &value, 4);
  } else {
    const uint16_t half = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    std::memcpy(panel + ((k / 2 * kLanes + lane) * 2 + k % 2) * 2, &half, 2);
  }
}

float get_value(Codes codes, const uint8_t* panel, int64_t lane, int64_t k) {
  float value;
  if (codes == Codes::kF32) {
    std::memcpy(&value, panel + (k * kLanes + lane) * 4, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, panel + ((k / 2 * kLanes + lane) * 2 + k % 2) * 2, 2);
  return bf16_to_float(half);
}

/// Whether the int8 product's panels hold the matrix: regular groups that end at blocks.
bool has_code_panels(const CanonicalMatrix& source) {
  const auto* quantized = std::get_if<QuantizedMatrix>(&source);
  return quantized != nullptr && activation_group(*quantized) > 0;
}

template <class Test>
bool all_values(ThreadPool& pool, const CanonicalMatrix& source, const Test& test) {
  std::vector<char> passed(static_cast<size_t>(pool.threads()), 1);
  pool.parallel_for(rows_of(source), [&](int64_t begin, int64_t end, int thread) {
    std::vector<float> row(static_cast<size_t>(cols_of(source)));
    for (int64_t n = begin; n < end && passed[static_cast<size_t>(thread)] != 0; ++n) {
      row_to_floats(source, n, row.data());
      passed[static_cast<size_t>(thread)] = std::all_of(row.begin(), row.end(), test) ? 1 : 0;
    }
  });
  return std::all_of(passed.begin(), passed.end(), [](char ok) { return ok != 0; });
}

Panels dense_layout(ThreadPool& pool, const CanonicalMatrix& source) {
  const auto* dense = std::get_if<DenseMatrix>(&source);
  const bool surely_bf16 =
      dense != nullptr && (dense->dtype == DType::kBF16 || dense->dtype == DType::kF8E4M3);
  const bool bf16 = surely_bf16 || all_values(pool, source, is_bf16);
  return layout(bf16 ? Codes::kBf16 : Codes::kF32, rows_of(source), cols_of(source));
}

Panels code_layout(const QuantizedMatrix& source) {
  ScaleType type = ScaleType::kF32;
  if (std::all_of(source.scales.begin(), source.scales.end(), is_bf16)) type = ScaleType::kBf16;
  if (std::all_of(source.scales.begin(), source.scales.end(), is_fp16)) type = ScaleType::kF16;
  const Codes codes = source.bits == 2   ? Codes::kInt2
                      : source.bits == 3 ? Codes::kInt3
                      : source.bits == 4 ? Codes::kInt4
                                         : Codes::kInt8;
  Panels panels = layout(codes, source.rows, source.cols, type, source.group_size, !source.zeros.empty());
  panels.zero = 1 << (source.bits - 1);
  return panels;
}

void pack_dense_panel(const CanonicalMatrix& source, const Panels& panels, int64_t index, uint8_t* out,
                      std::vector<float>& row) {
  for (int64_t lane = 0; lane < std::min(kLanes, panels.rows - index * kLanes); ++lane) {
    row_to_floats(source, index * kLanes + lane, row.data());
    for (int64_t k = 0; k < panels.cols; ++k)
      put_value(panels.codes, out, lane, k, row[static_cast<size_t>(k)]);
  }
}

void pack_code_panel(const QuantizedMatrix& source, const Matrix& matrix, int64_t index, uint8_t* out) {
  const Panels& panels = matrix.panels;
  for (int64_t lane = 0; lane < std::min(kLanes, panels.rows - index * kLanes); ++lane) {
    const int64_t n = index * kLanes + lane;
    for (int64_t g = 0; g < source.groups(); ++g) {
      put_scale(panels.scale_type, out, g * kLanes + lane,
                source.scales[static_cast<size_t>(n * source.groups() + g)]);
      if (panels.has_zeros)
        out[panels.zeros_offset + g * kLanes + lane] = static_cast<uint8_t>(source.zero_of(n, g));
    }
    const uint8_t* codes = source.codes.data() + n * source.cols;
    for (int64_t k = 0; k < panels.depth; k += kBlock) {
      uint8_t block[kBlock] = {};
      for (int64_t i = 0; i < std::min(kBlock, source.cols - k); ++i) {
        block[i] = codes[matrix.order.empty() ? k + i : matrix.order[static_cast<size_t>(k + i)]];
      }
      const int64_t offset = k / kBlock * block_bytes(bits_of(panels.codes));
      put_codes(panels.codes, block, out + panels.codes_offset + offset + 4 * lane);
    }
  }
}

Matrix describe(ThreadPool& pool, bool exact, const CanonicalMatrix& source) {
  Matrix matrix;
  if (!has_code_panels(source)) {
    matrix.panels = dense_layout(pool, source);
    return matrix;
  }
  const auto& quantized = std::get<QuantizedMatrix>(source);
  matrix.panels = code_layout(quantized);
  if (!exact) matrix.activation_group = activation_group(quantized);
  if (!quantized.group_index.empty()) matrix.order = column_order(quantized);
  return matrix;
}

void pack(ThreadPool& pool, const CanonicalMatrix& source, const Matrix& matrix, uint8_t* data) {
  const Panels& panels = matrix.panels;
  pool.parallel_for(panel_count(panels), [&](int64_t begin, int64_t end, int) {
    std::vector<float> row(static_cast<size_t>(panels.cols));
    for (int64_t p = begin; p < end; ++p) {
      uint8_t* out = data + p * panels.panel_bytes;
      if (is_dense(panels.codes)) {
        pack_dense_panel(source, panels, p, out, row);
      } else {
        pack_code_panel(std::get<QuantizedMatrix>(source), matrix, p, out);
      }
    }
  });
}

/// Room for a stack: a slab for `count` matrices laid out like the first; what is laid out otherwise gets its
/// own.
class Room {
 public:
  Room(SimdWeight& weight, int64_t count) : weight_(weight), count_(count) {}

  uint8_t* place(int64_t index, const Panels& panels) {
    const int64_t bytes = panel_count(panels) * panels.panel_bytes;
    weight_.bytes += bytes;
    if (index == 0) {
      stride_ = bytes;
      weight_.memory.push_back(allocate_memory(bytes * count_));
    } else if (bytes != stride_) {
      weight_.memory.push_back(allocate_memory(bytes));
      return static_cast<uint8_t*>(weight_.memory.back().get());
    }
    return static_cast<uint8_t*>(weight_.memory.front().get()) + index * stride_;
  }

 private:
  SimdWeight& weight_;
  int64_t count_;
  int64_t stride_ = 0;
};

}  // namespace

Panels layout(Codes codes, int64_t rows, int64_t cols, ScaleType scale_type, int64_t group, bool has_zeros) {
  Panels panels;
  panels.codes = codes;
  panels.scale_type = scale_type;
  panels.has_zeros = has_zeros;
  panels.rows = rows;
  panels.cols = cols;
  panels.depth = round_up(cols, kBlock);
  if (!is_dense(codes)) {
    panels.group = group >= cols ? panels.depth : group;
    const int64_t groups = (panels.depth + panels.group - 1) / panels.group;
    panels.zeros_offset = groups * kLanes * scale_bytes(scale_type);
    panels.codes_offset = round_up(panels.zeros_offset + (has_zeros ? groups * kLanes : 0), 64);
  }
  panels.panel_bytes = panels.codes_offset + panels.depth / kBlock * block_bytes(bits_of(codes));
  return panels;
}

int64_t panel_count(const Panels& panels) {
  return (panels.rows + kLanes - 1) / kLanes;
}

std::string kernel_name(const Matrix& matrix) {
  const Panels& panels = matrix.panels;
  if (panels.codes == Codes::kBf16) return "bf16 panels x fp32, fma";
  if (panels.codes == Codes::kF32) return "fp32 panels x fp32, fma";
  const std::string codes = "int" + std::to_string(bits_of(panels.codes)) + " panels";
  if (matrix.activation_group == 0) return codes + " x fp32, fma";
  return codes + " x int8 activations in groups of " + std::to_string(matrix.activation_group);
}

Weight prepare_weight(ThreadPool& pool, bool exact, int64_t count,
                      const std::function<CanonicalMatrix(int64_t)>& matrix) {
  auto weight = std::make_shared<SimdWeight>();
  weight->count = count;
  Room room(*weight, count);
  for (int64_t i = 0; i < count; ++i) {
    const CanonicalMatrix source = matrix(i);
    Matrix prepared = describe(pool, exact, source);
    uint8_t* data = room.place(i, prepared.panels);
    prepared.panels.data = data;
    pack(pool, source, prepared, data);
    weight->matrices.push_back(std::move(prepared));
  }
  weight->rows = weight->matrices.front().panels.rows;
  weight->cols = weight->matrices.front().panels.cols;
  weight->kernel = kernel_name(weight->matrices.front());
  return weight;
}

void unpack_row(const Matrix& matrix, int64_t row, float* out) {
  const Panels& panels = matrix.panels;
  const uint8_t* panel = panels.data + row / kLanes * panels.panel_bytes;
  const int64_t lane = row % kLanes;
  for (int64_t k = 0; k < panels.cols; ++k) {
    const int64_t column = matrix.order.empty() ? k : matrix.order[static_cast<size_t>(k)];
    if (is_dense(panels.codes)) {
      out[column] = get_value(panels.codes, panel, lane, k);
      continue;
    }
    const int64_t index = k / panels.group * kLanes + lane;
    const uint8_t* block = panel + panels.codes_offset + k / kBlock * block_bytes(bits_of(panels.codes));
    const int zero = panels.has_zeros ? panel[panels.zeros_offset + index] : panels.zero;
    const int code = get_code(panels.codes, block + 4 * lane, k % kBlock);
    out[column] = get_scale(panels.scale_type, panel, index) * static_cast<float>(code - zero);
  }
}

}  // namespace tercet::simd
