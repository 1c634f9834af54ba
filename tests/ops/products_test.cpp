// linear, embed, moe_ffn, quantize_activations, accumulate_products, gather_rows: every backend against ref.
#include <gtest/gtest.h>

#include <cmath>

#include "base/float_types.h"
#include "ops/host_matrix.h"
#include "support/backends.h"
#include "support/checker.h"
#include "support/tolerance.h"

namespace tercet {
namespace {

struct Shape {
  int64_t rows, n, k;
};

const std::vector<Shape> kShapes = {{0, 16, 32},  {1, 1, 32},  {1, 16, 128},  {3, 17, 96},
                                    {7, 33, 256}, {2, 5, 160}, {17, 70, 384}, {1, 300, 64}};

class Products : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    tested_ = open_backend(GetParam());
    reference_ = open_backend({"ref", GetParam().exact});
    for (Backend* backend : {tested_.get(), reference_.get()}) {
      backend->plan({.rows = 32,
                     .sequences = 4,
                     .pages = 16,
                     .logit_rows = 32,
                     .widest = 512,
                     .top_k = 4,
                     .experts = 8,
                     .expert_width = 96,
                     .vocab = 512});
    }
  }

  static HostMatrix linear(Backend& backend, const HostMatrix& x, const CanonicalMatrix& w) {
    Exchange exchange(backend);
    const TensorView out = exchange.empty(x.rows, rows_of(w));
    backend.linear(exchange.put(x), exchange.weight(w), out);
    return exchange.get(out);
  }

  /// sum_k |W[n][k] x[t][k]|
  static std::vector<double> magnitudes(const HostMatrix& x, const CanonicalMatrix& w) {
    std::vector<double> result;
    std::vector<float> row(static_cast<size_t>(x.cols));
    for (int64_t t = 0; t < x.rows; ++t) {
      for (int64_t n = 0; n < rows_of(w); ++n) {
        row_to_floats(w, n, row.data());
        double sum = 0;
        for (int64_t k = 0; k < x.cols; ++k) {
          sum += std::abs(static_cast<double>(row[static_cast<size_t>(k)]) *
                          static_cast<double>(x.row(t)[static_cast<size_t>(k)]));
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  void compare_linear(const HostMatrix& x, const CanonicalMatrix& w, const std::string& what) {
    const std::vector<double> size = magnitudes(x, w);
    const HostMatrix found = linear(*tested_, x, w);
    const HostMatrix expected = linear(*reference_, x, w);
    EXPECT_TRUE(within(
        found.values, expected.values,
        [&](int64_t i) { return tolerance::dot(x.cols, size[static_cast<size_t>(i)]); }, x.rows == 0))
        << what;
  }

  std::unique_ptr<Backend> tested_;
  std::unique_ptr<Backend> reference_;
  SplitMix64 random_{20};
};

TEST_P(Products, LinearWithFloatWeights) {
  for (const Shape& shape : kShapes) {
    const HostMatrix x = random_matrix(random_, shape.rows, shape.k);
    const HostMatrix w = random_matrix(random_, shape.n, shape.k);
    compare_linear(x, dense(w), "F32");
    std::vector<uint16_t> bits;
    for (const float value : w.values) bits.push_back(float_to_bf16(value));
    compare_linear(
        x, DenseMatrix{DType::kBF16, shape.n, shape.k, reinterpret_cast<const std::byte*>(bits.data())},
        "BF16");
  }
}

TEST_P(Products, LinearWithQuantizedWeights) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const int64_t group : {32, 64, 128, -1}) {
      for (const Shape& shape : kShapes) {
        for (const bool zeros : {false, true}) {
          const HostMatrix x = random_matrix(random_, shape.rows, shape.k);
          const bool shuffled = random_.below(4) == 0;
          compare_linear(x, random_quantized(random_, bits, shape.n, shape.k, group, zeros, shuffled),
                         "bits " + std::to_string(bits) + " group " + std::to_string(group) + " n " +
                             std::to_string(shape.n) + " k " + std::to_string(shape.k));
        }
      }
    }
  }
}

TEST_P(Products, LinearWithExtremeActivations) {
  for (const int bits : {2, 3, 4, 8}) {
    QuantizedMatrix w = random_quantized(random_, bits, 16, 256, 128, false, false);
    std::fill(w.codes.begin(), w.codes.end(), static_cast<uint8_t>((1 << bits) - 1));
    HostMatrix x(2, 256);
    for (size_t i = 0; i < x.values.size(); ++i) x.values[i] = i < 256 ? 3.0F : -3.0F;
    compare_linear(x, w, "all codes at their largest, all activations too: sums must not saturate");
    x.values.assign(x.values.size(), 0.0F);
    compare_linear(x, w, "all activations zero");
  }
}

TEST_P(Products, RowsAreIndependentOfTheBatch) {
  for (const int bits : {3, 4, 8, 16}) {
    const HostMatrix x = random_matrix(random_, 19, 256);
    const HostMatrix w = random_matrix(random_, 50, 256);
    CanonicalMatrix matrix = dense(w);
    if (bits < 16) matrix = random_quantized(random_, bits, 50, 256, 64, true, false);
    const HostMatrix all = linear(*tested_, x, matrix);
    for (int64_t t = 0; t < x.rows; ++t) {
      HostMatrix one(1, x.cols);
      std::copy_n(x.row(t).data(), x.cols, one.values.data());
      const HostMatrix alone = linear(*tested_, one, matrix);
      EXPECT_TRUE(std::equal(alone.values.begin(), alone.values.end(), all.row(t).begin()))
          << "row " << t << " bits " << bits;
    }
  }
}

TEST_P(Products, Embed) {
  const HostMatrix table = random_matrix(random_, 37, 48);
  for (const std::vector<int32_t>& ids : {std::vector<int32_t>{}, {36}, {0, 5, 5, 36, 17}}) {
    Exchange exchange(*tested_);
    const TensorView out = exchange.empty(static_cast<int64_t>(ids.size()), 48);
    tested_->embed(exchange.put_indices(ids, 1), exchange.weight(dense(table)), out);
    const HostMatrix found = exchange.get(out);
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_TRUE(std::equal(table.row(ids[i]).begin(), table.row(ids[i]).end(),
                             found.row(static_cast<int64_t>(i)).begin()));
    }
  }
}

TEST_P(Products, GatherRows) {
  const HostMatrix x = random_matrix(random_, 11, 33);
  const std::vector<int32_t> rows = {10, 0, 3, 3};
  Exchange exchange(*tested_);
  const TensorView out = exchange.empty(4, 33);
  tested_->gather_rows(exchange.put(x), exchange.put_indices(rows, 1), out);
  const HostMatrix found = exchange.get(out);
  for (int64_t i = 0; i < 4; ++i) {
    const auto expected = x.row(rows[static_cast<size_t>(i)]);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.row(i).begin()));
  }
}

struct ExpertStacks {
  std::vector<CanonicalMatrix> gate, up, down;
};

HostMatrix run_moe(Backend& backend, const HostMatrix& x, const std::vector<int32_t>& index,
                   const HostMatrix& weight, const ExpertStacks& experts) {
  Exchange exchange(backend);
  const auto stack = [&](const std::vector<CanonicalMatrix>& matrices) {
    return backend.prepare(static_cast<int64_t>(matrices.size()),
                           [&](int64_t i) { return matrices[static_cast<size_t>(i)]; });
  };
  const TensorView out = exchange.empty(x.rows, x.cols);
  backend.moe_ffn(exchange.put(x), exchange.put_indices(index, weight.cols), exchange.put(weight),
                  stack(experts.gate), stack(experts.up), stack(experts.down), out);
  return exchange.get(out);
}

/// The rows of a matrix as floats.
HostMatrix floats(const CanonicalMatrix& matrix) {
  HostMatrix result(rows_of(matrix), cols_of(matrix));
  for (int64_t n = 0; n < result.rows; ++n) row_to_floats(matrix, n, result.values.data() + n * result.cols);
  return result;
}

/// W x in double, and sum |W x|.
std::pair<double, double> product(std::span<const float> w, std::span<const float> x) {
  double sum = 0;
  double magnitude = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const double term = static_cast<double>(w[k]) * static_cast<double>(x[k]);
    sum += term;
    magnitude += std::abs(term);
  }
  return {sum, magnitude};
}

/// How far moe_ffn may be off, element by element: the errors of gate and up (dot bounds) through silu (slope
/// below 1.1) and the product, then through down. With int8 activations the input's codes are equal, but
/// values between may fall on the other side of a tie: two of an expert's codes may flip by one step of their
/// group's scale.
std::vector<double> moe_bounds(const HostMatrix& x, const std::vector<int32_t>& index,
                               const HostMatrix& weight, const ExpertStacks& experts, bool int8) {
  std::vector<double> bounds(static_cast<size_t>(x.rows * x.cols));
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t t = static_cast<int64_t>(i) / weight.cols;
    const size_t expert = static_cast<size_t>(index[i]);
    const HostMatrix gate = floats(experts.gate[expert]);
    const HostMatrix up = floats(experts.up[expert]);
    const HostMatrix down = floats(experts.down[expert]);
    std::vector<double> value, error;
    for (int64_t r = 0; r < gate.rows; ++r) {
      const auto [g, g_size] = product(gate.row(r), x.row(t));
      const auto [u, u_size] = product(up.row(r), x.row(t));
      const double silu = g / (1 + std::exp(-g));
      value.push_back(std::abs(silu * u));
      error.push_back(1.1 * tolerance::dot(x.cols, g_size) * std::abs(u) +
                      std::abs(silu) * tolerance::dot(x.cols, u_size) +
                      tolerance::kElementary * value.back());
    }
    const double step = int8 ? 2 * *std::max_element(value.begin(), value.end()) / 127 : 0;
    for (int64_t n = 0; n < down.rows; ++n) {
      double sum = 0;
      double magnitude = 0;
      double largest = 0;
      for (int64_t r = 0; r < down.cols; ++r) {
        const double w = std::abs(static_cast<double>(down.row(n)[static_cast<size_t>(r)]));
        sum += w * error[static_cast<size_t>(r)];
        magnitude += w * (value[static_cast<size_t>(r)] + step);
        largest = std::max(largest, w);
      }
      bounds[static_cast<size_t>(t * x.cols + n)] +=
          std::abs(static_cast<double>(weight.values[i])) *
          (sum + tolerance::int8_product(down.cols / 2, magnitude, step * largest));
    }
  }
  return bounds;
}

TEST_P(Products, MoeFfn) {
  constexpr int64_t kHidden = 128;
  constexpr int64_t kWidth = 96;
  constexpr int64_t kExperts = 8;
  for (const int64_t rows : {1, 5, 32}) {
    ExpertStacks experts;
    for (int64_t e = 0; e < kExperts; ++e) {
      const int bits = e % 2 == 0 ? 4 : 3;  // a recipe may give experts different bits and groups
      const int64_t group = std::array{64, 32, 128}[static_cast<size_t>(e % 3)];
      experts.gate.emplace_back(random_quantized(random_, bits, kWidth, kHidden, group, false, false));
      experts.up.emplace_back(random_quantized(random_, bits, kWidth, kHidden, group, false, false));
      experts.down.emplace_back(
          random_quantized(random_, 4, kHidden, kWidth, e % 2 == 0 ? 32 : 96, true, false));
    }
    const HostMatrix x = random_matrix(random_, rows, kHidden);
    const HostMatrix weight = random_matrix(random_, rows, 3);
    std::vector<int32_t> index;
    for (int64_t t = 0; t < rows; ++t) {  // distinct experts a row; the last expert is never chosen
      const int32_t first = static_cast<int32_t>(random_.below(kExperts - 1));
      for (int32_t j = 0; j < 3; ++j) index.push_back((first + 2 * j) % (static_cast<int32_t>(kExperts) - 1));
    }
    const HostMatrix found = run_moe(*tested_, x, index, weight, experts);
    const HostMatrix expected = run_moe(*reference_, x, index, weight, experts);
    const std::vector<double> bounds = moe_bounds(x, index, weight, experts, !GetParam().exact);
    EXPECT_TRUE(
        within(found.values, expected.values, [&](int64_t i) { return bounds[static_cast<size_t>(i)]; }))
        << rows << " rows";
    EXPECT_GT(expected.largest(), 20 * *std::max_element(bounds.begin(), bounds.end()))
        << "the bound would let anything through";
    for (int64_t t = 0; t < rows; ++t) {
      HostMatrix one(1, kHidden);
      HostMatrix share(1, 3);
      std::copy_n(x.row(t).data(), kHidden, one.values.data());
      std::copy_n(weight.row(t).data(), 3, share.values.data());
      const std::vector<int32_t> chosen(index.begin() + t * 3, index.begin() + t * 3 + 3);
      const HostMatrix alone = run_moe(*tested_, one, chosen, share, experts);
      EXPECT_TRUE(std::equal(alone.values.begin(), alone.values.end(), found.row(t).begin())) << "row " << t;
    }
  }
}

TEST_P(Products, QuantizeActivations) {
  for (const int64_t cols : {32, 128, 200, 256}) {
    HostMatrix x = random_matrix(random_, 5, cols);
    std::fill_n(x.values.begin(), std::min<int64_t>(cols, 128), 0.0F);  // a group of zeros
    const int64_t groups = (cols + 127) / 128;
    std::vector<std::vector<int8_t>> codes;
    std::vector<HostMatrix> scales;
    for (Backend* backend : {tested_.get(), reference_.get()}) {
      Exchange exchange(*backend);
      const TensorView code_view = exchange.empty(5, cols, DType::kI8);
      const TensorView scale_view = exchange.empty(5, groups);
      backend->quantize_activations(exchange.put(x), 128, code_view, scale_view);
      codes.push_back(exchange.get_codes(code_view));
      scales.push_back(exchange.get(scale_view));
    }
    EXPECT_EQ(codes[0], codes[1]) << "the definition is exact";
    EXPECT_EQ(scales[0].values, scales[1].values);
    EXPECT_EQ(*std::max_element(codes[1].begin(), codes[1].end()), 127);
  }
}

TEST_P(Products, AccumulateProducts) {
  for (const int64_t rows : {0, 1, 9, 32}) {
    const HostMatrix x = random_matrix(random_, rows, 40);
    const HostMatrix y = random_matrix(random_, rows, 40);
    const HostMatrix start = random_matrix(random_, 40, 40);
    std::vector<HostMatrix> results;
    for (Backend* backend : {tested_.get(), reference_.get()}) {
      Exchange exchange(*backend);
      const TensorView out = exchange.put(start);
      backend->accumulate_products(exchange.put(x), exchange.put(y), 0.5F, out);
      results.push_back(exchange.get(out));
    }
    const double magnitude = start.largest() + static_cast<double>(rows) * 0.5 * x.largest() * y.largest();
    EXPECT_TRUE(within(results[0].values, results[1].values,
                       [&](int64_t) { return tolerance::dot(rows + 1, magnitude); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Products, ::testing::ValuesIn(backend_cases(true)),
                         [](const auto& which) { return case_name(which.param); });

}  // namespace
}  // namespace tercet
