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
  return Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(values.data(), rows, width)
      .cast<double>();
}

/// The quantized matrix as its codes and grids say.
MatrixXd value(const SolvedRows& solved, const RowSolver& solver, const SolveSettings& settings, int64_t rows,
               int64_t width) {
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
MatrixXd gptq_by_inverse(MatrixXd weights, const MatrixXd& damped, const std::vector<int32_t>& order,
                         const Grid* grids, int64_t groups, const SolveSettings& settings) {
  const int64_t width = weights.cols();
  MatrixXd permuted(width, width);
  MatrixXd w(weights.rows(), width);
  for (int64_t i = 0; i < width; ++i) {
    w.col(i) = weights.col(order[static_cast<size_t>(i)]);
    for (int64_t j = 0; j < width; ++j)
      permuted(i, j) = damped(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  const MatrixXd upper = Eigen::LLT<MatrixXd>(permuted.inverse()).matrixU();
  MatrixXd result(weights.rows(), width);
  for (int64_t i = 0; i < width; ++i) {
    const int64_t col = order[static_cast<size_t>(i)];
    for (int64_t r = 0; r < w.rows(); ++r) {
      const Grid grid = grids[r * groups + col / settings.group_size];
      const double q =
          static_cast<double>(value_of(nearest_code(static_cast<float>(w(r, i)), grid, settings.kind), grid));
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
  const MatrixXd expected = gptq_by_inverse(dense(problem.weights, 6, 64), damped, curvature.order,
                                            solved.grids.data(), solver.groups(), settings);
  int64_t different = 0;  // a value on a border may fall to either side
  const MatrixXd found = value(solved, solver, settings, 6, 64);
  for (int64_t r = 0; r < 6; ++r)
    different += static_cast<int64_t>(!found.row(r).isApprox(expected.row(r), 1e-6));
  EXPECT_LE(different, 1);
}

TEST(Solver, RefitLowersTheLoss) {
  const Problem problem = make_problem(16, 128, 400, 7);
  const Curvature curvature = factored(problem, true);
  double last = INFINITY;
  for (const int rounds : {0, 1, 3}) {
    SolveSettings settings = settings_of(3, 32);
    settings.refit_rounds = rounds;
    const double loss = total(RowSolver(&curvature, 128, settings).solve(problem.weights, 16).loss);
    EXPECT_LT(loss, last) << rounds;
    last = loss;
  }
}

TEST(Solver, DescentLowersTheLossOfFeedback) {
  const Problem problem = make_problem(16, 128, 400, 8);
  const Curvature curvature = factored(problem, false);
  SolveSettings settings = settings_of(3, 128);
  settings.refit_rounds = 0;
  const double with = total(RowSolver(&curvature, 128, settings).solve(problem.weights, 16).loss);
  settings.descent_sweeps = 0;
  EXPECT_LT(with, total(RowSolver(&curvature, 128, settings).solve(problem.weights, 16).loss));
}

TEST(Solver, RowsAreIndependentOfHowTheyAreCut) {
  const Problem problem = make_problem(7, 80, 200, 9);
  const Curvature curvature = factored(problem, true);
  const RowSolver solver(&curvature, 80, settings_of(4, 32));
  const SolvedRows all = solver.solve(problem.weights, 7);
  for (int64_t r = 0; r < 7; ++r) {
    const std::vector<float> row(problem.weights.begin() + r * 80, problem.weights.begin() + (r + 1) * 80);
    const SolvedRows one = solver.solve(row, 1);
    EXPECT_TRUE(std::equal(one.codes.begin(), one.codes.end(), all.codes.begin() + r * 80));
    EXPECT_EQ(one.loss[0], all.loss[static_cast<size_t>(r)]);
  }
}

/// Inputs without correlation: nothing to feed back.
TEST(Solver, IdentityReducesToRoundingWithSearchedScales) {
  const Problem problem = make_problem(8, 64, 10, 11);
  InputStatistics identity;
  identity.width = 64;
  identity.squares.resize(64 * 64);
  for (size_t k = 0; k < 64; ++k) identity.squares[k * 65] = 1;
  std::string failure;
  const Curvature curvature = factor(identity, 0.01, &failure);
  SolveSettings settings = settings_of(4, 32);
  settings.refit_rounds = 0;
  const SolvedRows solved = RowSolver(&curvature, 64, settings).solve(problem.weights, 8);
  settings.feedback = false;
  const SolvedRows searched = RowSolver(nullptr, 64, settings).solve(problem.weights, 8);
  for (size_t r = 0; r < 8; ++r) {
    const double expected = std::min(searched.loss[r], solved.rtn_loss[r]);
    EXPECT_NEAR(solved.loss[r], expected, 1e-6 * expected);
  }
}

TEST(Solver, DeadInputsKeepTheirRoundedWeights) {
  Problem problem = make_problem(4, 64, 300, 12);
  for (const int64_t dead : {3, 40}) problem.x.col(dead).setZero(), problem.quantized.col(dead).setZero();
  const Curvature curvature = factored(problem, true);
  const SolveSettings settings = settings_of(4, 64);
  const RowSolver solver(&curvature, 64, settings);
  const SolvedRows solved = solver.solve(problem.weights, 4);
  for (int64_t r = 0; r < 4; ++r) {
    for (const int64_t dead : {3, 40}) {
      const size_t at = static_cast<size_t>(r * 64 + dead);
      const Grid grid = solved.grids[static_cast<size_t>(r)];
      EXPECT_EQ(solved.codes[at], nearest_code(problem.weights[at], grid, settings.kind));
    }
  }
}

TEST(Solver, FewerTokensThanInputsIsSolvable) {
  const Problem problem = make_problem(4, 96, 20, 13);
  const Curvature curvature = factored(problem, true);
  const SolvedRows solved = RowSolver(&curvature, 96, settings_of(4, 96)).solve(problem.weights, 4);
  EXPECT_LT(total(solved.loss), total(solved.rtn_loss));
  for (const double loss : solved.loss) EXPECT_TRUE(std::isfinite(loss));
}

/// Two inputs with correlation 1.055, as rounding of sums may leave it: the least eigenvalue is -0.055.
TEST(Factor, DampGrowsUntilItSucceeds) {
  std::string failure;
  EXPECT_NEAR(factor({2, {1, 1.055F, 1.055F, 1}, {}}, 0.01, &failure).damp, 0.06, 1e-9);
  EXPECT_EQ(failure, "");
  EXPECT_TRUE(factor({2, {1, 3, 3, 1}, {}}, 0.01, &failure).feedback.empty());
  EXPECT_NE(failure, "");
}

TEST(Factor, NothingIsAFailureAndNanIsFound) {
  std::string failure;
  EXPECT_TRUE(factor({2, {0, 0, 0, 0}, {}}, 0.01, &failure).feedback.empty());
  EXPECT_EQ(failure, "all inputs are zero");
  EXPECT_TRUE(is_finite({1, {1}, {0}}));
  EXPECT_FALSE(is_finite({2, {1, NAN, 0, 1}, {}}));
  EXPECT_FALSE(is_finite({1, {1}, {INFINITY}}));
}

TEST(Grid, ScaleIsTheLargestValueOverTheRange) {
  const std::vector<float> values = {-7.5F, 3, 0.4F};
  const Grid grid = range_grid(values, {4, true}, 1);
  EXPECT_EQ(grid.scale, 1);
  EXPECT_EQ(grid.zero, 8);
  EXPECT_EQ(nearest_code(-7.5F, grid, {4, true}), 0);
  EXPECT_EQ(nearest_code(7.5F, grid, {4, true}), 15);
  EXPECT_EQ(nearest_code(2.5F, grid, {4, true}), 10);  // tie to even
  const Grid asymmetric = range_grid(std::vector<float>{-1, 2}, {2, false}, 1);
  EXPECT_EQ(asymmetric.scale, 1);
  EXPECT_EQ(asymmetric.zero, 1);
}

TEST(Grid, ExtremeGroupsHaveUsableScales) {
  for (const float size : {0.0F, 1e-30F, 1e30F}) {
    const Grid grid = range_grid(std::vector<float>{size, -size}, {4, true}, 1);
    EXPECT_GT(grid.scale, 0);
    EXPECT_LE(grid.scale, 65504);
  }
}

/// The search must find the best of its factors, here by trying them all.
TEST(Grid, SearchFindsTheLeastWeightedError) {
  const Problem problem = make_problem(1, 32, 1, 14);
  std::vector<float> importance;
  for (const float weight : problem.weights) importance.push_back(1 + weight * weight);
  const auto error = [&](Grid grid) {
    double sum = 0;
    for (size_t k = 0; k < 32; ++k) {
      const float value = value_of(nearest_code(problem.weights[k], grid, {3, true}), grid);
      sum +=
          static_cast<double>(importance[k]) * std::pow(static_cast<double>(value - problem.weights[k]), 2);
    }
    return sum;
  };
  double least = INFINITY;
  for (int i = 0; i < 31; ++i) {
    least =
        std::min(least, error(range_grid(problem.weights, {3, true}, 1.05F - 0.02F * static_cast<float>(i))));
  }
  EXPECT_NEAR(error(searched_grid(problem.weights, importance, {3, true})), least, 1e-3 * least);
}

}  // namespace
}  // namespace tercet
