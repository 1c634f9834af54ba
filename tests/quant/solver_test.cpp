#include "quant/solver.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/random.h"

namespace tercet {
namespace {

using Eigen::MatrixXd;

/// Correlated inputs of two models and a matrix to be quantized.
struct Problem {
  int64_t rows;
  int64_t width;
  MatrixXd x;          // [tokens, width]
  MatrixXd quantized;  // x'
  std::vector<float> weights;
};

Problem make_problem(int64_t rows, int64_t width, int64_t tokens, uint64_t seed) {
  SplitMix64 random(seed);
  const auto uniform = [&] { return random.uniform() * 2 - 1; };
  Problem problem{rows, width, {}, {}, {}};
  const MatrixXd mixing = MatrixXd::NullaryExpr(width, width, uniform);
  MatrixXd gains = MatrixXd::Zero(width, width);
  for (int64_t k = 0; k < width; ++k) gains(k, k) = std::exp(2 * uniform());
  problem.x = MatrixXd::NullaryExpr(tokens, width, uniform) * mixing * gains;
  problem.quantized = problem.x + 0.1 * MatrixXd::NullaryExpr(tokens, width, uniform) * gains;
  for (int64_t i = 0; i < rows * width; ++i) problem.weights.push_back(static_cast<float>(uniform()));
  return problem;
}

InputStatistics statistics_of(const Problem& problem, bool cross) {
  const double tokens = static_cast<double>(problem.x.rows());
  InputStatistics statistics;
  statistics.width = problem.width;
  const auto flat = [&](const MatrixXd& matrix) {
    std::vector<float> values;
    for (int64_t i = 0; i < problem.width; ++i) {
      for (int64_t j = 0; j < problem.width; ++j) values.push_back(static_cast<float>(matrix(i, j) / tokens));
    }
    return values;
  };
  statistics.squares = flat(problem.quantized.transpose() * problem.quantized);
  if (cross) statistics.cross = flat(problem.x.transpose() * problem.quantized);
  return statistics;
}

MatrixXd dense(const std::vector<float>& values, int64_t rows, int64_t width) {
  return Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(values.data(), rows, width).cast<double>();
}

/// The quantized matrix as its codes and grids say.
MatrixXd value(const SolvedRows& solved, const RowSolver& solver, const SolveSettings& settings, int64_t rows, int64_t width) {
  MatrixXd result(rows, width);
  const std::vector<int32_t> index = solver.group_index();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < width; ++k) {
      const int64_t group = index.empty() ? k / settings.group_size : index[static_cast<size_t>(k)];
      const Grid grid = solved.grids[static_cast<size_t>(r * solver.groups() + group)];
      result(r, k) = static_cast<double>(value_of(solved.codes[static_cast<size_t>(r * width + k)], grid));
    }
  }
  return result;
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

Curvature factored(const Problem& problem, bool cross, double damp = 0.01) {
  std::string failure;
  Curvature curvature = factor(statistics_of(problem, cross), damp, &failure);
  EXPECT_EQ(failure, "");
  return curvature;
}

SolveSettings settings_of(int bits, int64_t group_size) {
  SolveSettings settings;
  settings.kind = {bits, true};
  settings.group_size = group_size;
  return settings;
}

TEST(Solver, LossIsMeasuredOnTheTargetAndNeverAboveRtn) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool symmetric : {true, false}) {
      for (const bool desc_act : {false, true}) {
        const Problem problem = make_problem(9, 96, 300, static_cast<uint64_t>(bits));
        const Curvature curvature = factored(problem, true);
        SolveSettings settings = settings_of(bits, 32);
        settings.kind.symmetric = symmetric;
        settings.desc_act = desc_act;
        const RowSolver solver(&curvature, 96, settings);
        const SolvedRows solved = solver.solve(problem.weights, 9);
        const InputStatistics statistics = statistics_of(problem, true);
        const MatrixXd h = dense(statistics.squares, 96, 96);
        const MatrixXd c = dense(statistics.cross, 96, 96);
        const MatrixXd lambda = 0.01 * h.diagonal().mean() * MatrixXd::Identity(96, 96);
        const MatrixXd target = dense(problem.weights, 9, 96) * (c + lambda) * (h + lambda).inverse();
        const MatrixXd error = value(solved, solver, settings, 9, 96) - target;
        const double loss = (error * h * error.transpose()).trace();
        EXPECT_NEAR(total(solved.loss), loss, 1e-4 * loss + 1e-7) << bits << symmetric << desc_act;
        for (size_t r = 0; r < 9; ++r) EXPECT_LE(solved.loss[r], solved.rtn_loss[r]);
        EXPECT_LT(total(solved.loss), 0.8 * total(solved.rtn_loss));
      }
    }
  }
}

/// Frantar et al.'s own formulation: the upper Cholesky factor of the inverse, columns updated in place.
MatrixXd gptq_by_inverse(MatrixXd weights, const MatrixXd& damped, const std::vector<int32_t>& order, const Grid* grids,
                         int64_t groups, const SolveSettings& settings) {
  const int64_t width = weights.cols();
  MatrixXd permuted(width, width);
  MatrixXd w(weights.rows(), width);
  for (int64_t i = 0; i < width; ++i) {
    w.col(i) = weights.col(order[static_cast<size_t>(i)]);
    for (int64_t j = 0; j < width; ++j) permuted(i, j) = damped(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  const MatrixXd upper = Eigen::LLT<MatrixXd>(permuted.inverse()).matrixU();
  MatrixXd result(weights.rows(), width);
  for (int64_t i = 0; i < width; ++i) {
    const int64_t col = order[static_cast<size_t>(i)];
    for (int64_t r = 0; r < w.rows(); ++r) {
      const Grid grid = grids[r * groups + col / settings.group_size];
      const double q = static_cast<double>(value_of(nearest_code(static_cast<float>(w(r, i)), grid, settings.kind), grid));
      result(r, col) = q;
      const double error = (w(r, i) - q) / upper(i, i);
      for (int64_t j = i; j < width; ++j) w(r, j) -= error * upper(i, j);
    }
  }
  return result;
}

TEST(Solver, FeedbackEqualsTheFormulationWithTheInverse) {
  const Problem problem = make_problem(6, 64, 200, 5);
  const Curvature curvature = factored(problem, false);
  SolveSettings settings = settings_of(4, 32);
  settings.refit_rounds = 0;
  settings.descent_sweeps = 0;
  const RowSolver solver(&curvature, 64, settings);
  const SolvedRows solved = solver.solve(problem.weights, 6);
  const MatrixXd h = dense(curvature.squares, 64, 64);
  MatrixXd damped(64, 64);  // back in the columns' own order
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 64; ++j) {
      damped(curvature.order[static_cast<size_t>(i)], curvature.order[static_cast<size_t>(j)]) = h(i, j);
    }
  }
  damped.diagonal().array() += 0.01 * h.diagonal().mean();
  const MatrixXd expected = gptq_by_inverse(dense(problem.weights, 6, 64), damped, curvature.order, solved.grids.data(),
                                            solver.groups(), settings);
  int64_t different = 0;  // a value on a border may fall to either side
  const MatrixXd found = value(solved, solver, settings, 6, 64);
  for (int64_t r = 0; r < 6; ++r) different += static_cast<int64_t>(!found.row(r).isApprox(expected.row(r), 1e-6));
  EXPECT_LE(different, 1);
}

}  // namespace
}  // namespace tercet
