#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/ref/ref_backend.h"

namespace tercet::ref {
namespace {

const RefWeight& weight_of(const PreparedWeight& weight) {
  return static_cast<const RefWeight&>(weight);
}

Matrix prepare_one(const CanonicalMatrix& source, bool exact) {
  Matrix matrix;
  const int64_t rows = rows_of(source);
  const int64_t cols = cols_of(source);
  matrix.values.resize(static_cast<size_t>(rows * cols));
  for (int64_t n = 0; n < rows; ++n) row_to_floats(source, n, matrix.values.data() + n * cols);
  const auto* quantized = std::get_if<QuantizedMatrix>(&source);
  if (exact || quantized == nullptr) return matrix;
  matrix.activation_group = activation_group(*quantized);
  if (matrix.activation_group == 0) return matrix;
  matrix.quantized = *quantized;
  matrix.order = column_order(*quantized);
  return matrix;
}

/// Scale and codes of one group of activations: the definition that every backend must meet exactly.
float quantize_group(const float* x, const int32_t* order, int64_t count, int8_t* codes) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[order[i]]));
  const float scale = largest / 127.0F;
  for (int64_t i = 0; i < count; ++i) {
    codes[i] = scale == 0 ? int8_t{0} : static_cast<int8_t>(std::nearbyint(x[order[i]] / scale));
  }
  return scale;
}

/// The int8 way: exact integer sums inside a group, scaled and added group by group.
void multiply_int8(const Matrix& matrix, int64_t rows, int64_t cols, const float* x, float* y) {
  const QuantizedMatrix& w = matrix.quantized;
  const int64_t group = matrix.activation_group;
  std::vector<int8_t> codes(static_cast<size_t>(cols));
  std::vector<float> scales;
  for (int64_t begin = 0; begin < cols; begin += group) {
    scales.push_back(
        quantize_group(x, matrix.order.data() + begin, std::min(group, cols - begin), codes.data() + begin));
  }
  for (int64_t n = 0; n < rows; ++n) {
    double sum = 0;
    for (int64_t begin = 0; begin < cols; begin += group) {
      const int64_t weight_group = w.group_of(matrix.order[static_cast<size_t>(begin)]);
      const int zero = w.zero_of(n, weight_group);
      int64_t products = 0;
      for (int64_t i = begin; i < std::min(begin + group, cols); ++i) {
        const int64_t k = matrix.order[static_cast<size_t>(i)];
        products += (w.codes[static_cast<size_t>(n * cols + k)] - zero) * codes[static_cast<size_t>(i)];
      }
      sum += static_cast<double>(products) * w.scales[static_cast<size_t>(n * w.groups() + weight_group)] *
             scales[static_cast<size_t>(begin / group)];
    }
    y[n] = static_cast<float>(sum);
  }
}

}  // namespace

Weight RefBackend::do_prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) {
  auto weight = std::make_shared<RefWeight>();
  weight->count = count;
  for (int64_t i = 0; i < count; ++i) {
    const CanonicalMatrix source = matrix(i);
    weight->rows = rows_of(source);
    weight->cols = cols_of(source);
    weight->matrices.push_back(prepare_one(source, exact_));
    weight->bytes += weight->rows * weight->cols * static_cast<int64_t>(sizeof(float));
  }
  const bool int8 = weight->matrices.front().activation_group > 0;
  weight->kernel = int8 ? "scalar codes x int8 activations" : "scalar fp32";
  return weight;
}

void multiply(const Matrix& matrix, int64_t rows, int64_t cols, const float* x, float* y) {
  if (matrix.activation_group > 0) return multiply_int8(matrix, rows, cols, x, y);
  for (int64_t n = 0; n < rows; ++n) {
    const float* w = matrix.values.data() + n * cols;
    double sum = 0;
    for (int64_t k = 0; k < cols; ++k) sum += static_cast<double>(w[k]) * static_cast<double>(x[k]);
    y[n] = static_cast<float>(sum);
  }
}

void RefBackend::do_linear(const TensorView& x, const PreparedWeight& w, TensorView out) {
  for (int64_t t = 0; t < x.rows; ++t) {
    multiply(weight_of(w).matrices.front(), w.rows, w.cols, x.f32() + t * x.cols, out.f32() + t * out.cols);
  }
}

void RefBackend::do_embed(const TensorView& ids, const PreparedWeight& table, TensorView out) {
  const Matrix& matrix = weight_of(table).matrices.front();
  for (int64_t t = 0; t < ids.rows; ++t) {
    const int64_t id = ids.i32()[t];
    TERCET_CHECK_LT(id, table.rows);
    std::memcpy(out.f32() + t * out.cols, matrix.values.data() + id * table.cols,
                static_cast<size_t>(table.cols) * sizeof(float));
  }
}

void RefBackend::do_moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight,
                            const PreparedWeight& gate, const PreparedWeight& up, const PreparedWeight& down,
                            TensorView out) {
  std::vector<float> g(static_cast<size_t>(gate.rows));
  std::vector<float> u(g.size());
  std::vector<float> y(static_cast<size_t>(down.rows));
  for (int64_t t = 0; t < x.rows; ++t) {
    std::vector<double> sum(y.size(), 0.0);
    for (int64_t j = 0; j < index.cols; ++j) {
      const size_t expert = static_cast<size_t>(index.i32()[t * index.cols + j]);
      multiply(weight_of(gate).matrices[expert], gate.rows, gate.cols, x.f32() + t * x.cols, g.data());
      multiply(weight_of(up).matrices[expert], up.rows, up.cols, x.f32() + t * x.cols, u.data());
      for (size_t i = 0; i < g.size(); ++i) g[i] = silu(g[i]) * u[i];
      multiply(weight_of(down).matrices[expert], down.rows, down.cols, g.data(), y.data());
      const double share = weight.f32()[t * weight.cols + j];
      for (size_t i = 0; i < y.size(); ++i) sum[i] += share * static_cast<double>(y[i]);
    }
    for (size_t i = 0; i < y.size(); ++i)
      out.f32()[t * out.cols + static_cast<int64_t>(i)] = static_cast<float>(sum[i]);
  }
}

void RefBackend::do_quantize_activations(const TensorView& x, int64_t group, TensorView codes,
                                         TensorView scales) {
  std::vector<int32_t> order(static_cast<size_t>(x.cols));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t g = 0; g < scales.cols; ++g) {
      const int64_t begin = g * group;
      scales.f32()[t * scales.cols + g] =
          quantize_group(x.f32() + t * x.cols, order.data() + begin, std::min(group, x.cols - begin),
                         codes.i8() + t * codes.cols + begin);
    }
  }
}

void RefBackend::do_accumulate_products(const TensorView& x, const TensorView& y, float scale,
                                        TensorView out) {
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.cols; ++j) {
      double sum = 0;
      for (int64_t t = 0; t < x.rows; ++t) {
        sum += static_cast<double>(x.f32()[t * x.cols + i]) * static_cast<double>(y.f32()[t * y.cols + j]);
      }
      out.f32()[i * out.cols + j] += static_cast<float>(sum * static_cast<double>(scale));
    }
  }
}

}  // namespace tercet::ref
