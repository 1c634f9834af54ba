#include "quant/curvature.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace tercet {
namespace {

using Matrix = Eigen::MatrixXd;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMap = Eigen::Map<RowMajor>;

constexpr double kDampIncrement = 0.01;

std::vector<int32_t> falling_order(const FloatMap& squares) {
  std::vector<int32_t> order(static_cast<size_t>(squares.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return squares(a, a) > squares(b, b); });
  return order;
}

/// With H + lambda I = M M^T, M upper, the loss of an error row d is |d M|^2, and its term j is made least by
/// a target that is moved by sum_(i<j) d_i M_ij / M_jj. M is the Cholesky factor of the matrix in reversed
/// order.
std::vector<float> feedback_of(const Eigen::LLT<Matrix>& reversed) {
  const int64_t width = reversed.rows();
  const Matrix& lower = reversed.matrixLLT();
  std::vector<float> feedback(static_cast<size_t>(width * width));
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t j = i + 1; j < width; ++j) {
      const double entry = lower(width - 1 - i, width - 1 - j) / lower(width - 1 - j, width - 1 - j);
      feedback[static_cast<size_t>(i * width + j)] = static_cast<float>(entry);
    }
  }
  return feedback;
}

/// (C + lambda I) (H + lambda I)^-1 with columns in solve order; `reversed` factors H + lambda I in reversed
/// solve order.
std::vector<float> correction_of(const Eigen::LLT<Matrix>& reversed, const FloatMap& cross, double lambda,
                                 const std::vector<int32_t>& order) {
  const int64_t width = reversed.rows();
  Matrix right(width, width);  // (C + lambda I)^T, its rows in reversed solve order
  for (int64_t i = 0; i < width; ++i) {
    const int32_t col = order[static_cast<size_t>(width - 1 - i)];
    right.row(i) = cross.col(col).transpose().cast<double>();
    right(i, col) += lambda;
  }
  reversed.solveInPlace(right);
  std::vector<float> correction(static_cast<size_t>(width * width));
  FloatMap(correction.data(), width, width) = right.colwise().reverse().transpose().cast<float>();
  return correction;
}

}  // namespace

bool is_finite(const InputStatistics& statistics) {
  const auto finite = [](float value) { return std::isfinite(value); };
  return std::all_of(statistics.squares.begin(), statistics.squares.end(), finite) &&
         std::all_of(statistics.cross.begin(), statistics.cross.end(), finite);
}

Curvature factor(InputStatistics statistics, double damp, std::string* failure) {
  const int64_t width = statistics.width;
  Curvature result;
  result.width = width;
  const FloatMap squares(statistics.squares.data(), width, width);
  result.order = falling_order(squares);
  result.squares.resize(statistics.squares.size());
  FloatMap ordered(result.squares.data(), width, width);
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      ordered(i, j) = squares(result.order[static_cast<size_t>(i)], result.order[static_cast<size_t>(j)]);
    }
  }
  const double mean = squares.diagonal().cast<double>().mean();
  if (mean <= 0) {
    *failure = "all inputs are zero";
    return result;
  }
  for (double share = damp; share < 1; share += kDampIncrement) {
    Matrix damped = ordered.reverse().cast<double>();
    damped.diagonal().array() += share * mean;
    const Eigen::LLT<Matrix> reversed(std::move(damped));
    if (reversed.info() != Eigen::Success) continue;
    result.damp = share;
    result.feedback = feedback_of(reversed);
    if (!statistics.cross.empty()) {
      const FloatMap cross(statistics.cross.data(), width, width);
      result.correction = correction_of(reversed, cross, share * mean, result.order);
    }
    return result;
  }
  *failure = "the Hessian cannot be factored with damp below 1";
  return result;
}

}  // namespace tercet
