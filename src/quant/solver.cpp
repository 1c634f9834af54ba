#include "quant/solver.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "quant/kernels.h"

namespace tercet {
namespace {

constexpr int64_t kFeedbackBlock = 32;  // places whose errors are applied together to the places behind them
constexpr int kPolish = 3;              // of scales and codes in turn, within a round
constexpr std::array<float, 3> kStarts = {1.0F, 0.9F, 1.1F};  // of the searched scales
constexpr double kRidge = 1e-6;  // of the mean diagonal: holds scales that the inputs do not determine

FloatBlock block_of(const std::vector<float>& values, int64_t stride) {
  return {const_cast<float*>(values.data()), stride};
}

}  // namespace

/// Codes and grids of all rows of a block, in solve order, and their loss.
struct RowSolver::Candidate {
  Candidate(int64_t rows, int64_t width, int64_t groups)
      : codes(static_cast<size_t>(rows * width)),
        grids(static_cast<size_t>(rows * groups)),
        loss(static_cast<size_t>(rows)) {}

  std::vector<uint8_t> codes;
  std::vector<Grid> grids;
  std::vector<double> loss;
};

/// The rows that are being solved, in solve order, and scratch.
struct RowSolver::Block {
  Block(int64_t row_count, int64_t width)
      : rows(row_count),
        weights(static_cast<size_t>(row_count * width)),
        target(weights.size()),
        error(weights.size()),
        gradient(weights.size()) {}

  int64_t rows;
  std::vector<float> weights;
  std::vector<float> target;    // w*
  std::vector<float> error;     // w* - q
  std::vector<float> gradient;  // error H, or the feedback sums while codes are chosen
};

Grid RowSolver::grid_at(const Candidate& candidate, int64_t row, int64_t place) const {
  return candidate.grids[static_cast<size_t>(row * groups_ + group_at_[static_cast<size_t>(place)])];
}

RowSolver::RowSolver(const Curvature* curvature, int64_t width, const SolveSettings& settings)
    : curvature_(curvature), settings_(settings), width_(width) {
  groups_ = (width + settings.group_size - 1) / settings.group_size;
  members_.resize(static_cast<size_t>(groups_));
  TERCET_CHECK(!settings.feedback || (curvature != nullptr && !curvature->feedback.empty()));
  for (int64_t i = 0; i < width; ++i) {
    const int64_t col = curvature == nullptr ? i : curvature->order[static_cast<size_t>(i)];
    const int64_t group = (settings.desc_act ? i : col) / settings.group_size;
    group_at_.push_back(static_cast<int32_t>(group));
    members_[static_cast<size_t>(group)].push_back(static_cast<int32_t>(i));
    importance_.push_back(curvature == nullptr ? 1 : curvature->squares[static_cast<size_t>(i * width + i)]);
  }
}

std::vector<int32_t> RowSolver::group_index() const {
  if (!settings_.desc_act) return {};
  std::vector<int32_t> index(static_cast<size_t>(width_));
  for (int64_t i = 0; i < width_; ++i) {
    index[static_cast<size_t>(curvature_->order[static_cast<size_t>(i)])] = group_at_[static_cast<size_t>(i)];
  }
  return index;
}

void RowSolver::load(const std::vector<float>& weights, Block& block) const {
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t i = 0; i < width_; ++i) {
      const int64_t col = curvature_ == nullptr ? i : curvature_->order[static_cast<size_t>(i)];
      block.weights[static_cast<size_t>(r * width_ + i)] = weights[static_cast<size_t>(r * width_ + col)];
    }
  }
  if (curvature_ == nullptr || curvature_->correction.empty()) {
    block.target = block.weights;
    return;
  }
  accumulate_product(block_of(block.target, width_), block_of(weights, width_),
                     block_of(curvature_->correction, width_), block.rows, width_, width_);
}

std::vector<float> RowSolver::gather(const float* row, int64_t group) const {
  std::vector<float> values;
  for (const int32_t place : members_[static_cast<size_t>(group)]) values.push_back(row[place]);
  return values;
}

/// Grids of all groups of `rows` (weights or targets, in solve order): searched by `importance`, or from the
/// largest value.
void RowSolver::set_grids(const std::vector<float>& rows, const std::vector<float>& importance,
                          Candidate& candidate) const {
  const int64_t count = static_cast<int64_t>(candidate.loss.size());
  for (int64_t g = 0; g < groups_; ++g) {
    const std::vector<float> weights =
        importance.empty() ? std::vector<float>() : gather(importance.data(), g);
    for (int64_t r = 0; r < count; ++r) {
      const std::vector<float> values = gather(rows.data() + r * width_, g);
      candidate.grids[static_cast<size_t>(r * groups_ + g)] =
          weights.empty() ? range_grid(values, settings_.kind, 1)
                          : searched_grid(values, weights, settings_.kind);
    }
  }
}

/// Every weight to its nearest code.
void RowSolver::round(Block& block, Candidate& candidate) const {
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t i = 0; i < width_; ++i) {
      const size_t at = static_cast<size_t>(r * width_ + i);
      const Grid grid = grid_at(candidate, r, i);
      candidate.codes[at] = nearest_code(block.weights[at], grid, settings_.kind);
    }
  }
  measure(block, candidate);
}

/// error, gradient and loss of the candidate's codes.
void RowSolver::measure(Block& block, Candidate& candidate) const {
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t i = 0; i < width_; ++i) {
      const size_t at = static_cast<size_t>(r * width_ + i);
      const Grid grid = grid_at(candidate, r, i);
      block.error[at] = block.target[at] - value_of(candidate.codes[at], grid);
    }
  }
  if (curvature_ == nullptr) {
    block.gradient = block.error;
  } else {
    std::fill(block.gradient.begin(), block.gradient.end(), 0.0F);
    accumulate_product(block_of(block.gradient, width_), block_of(block.error, width_),
                       block_of(curvature_->squares, width_), block.rows, width_, width_);
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    double loss = 0;
    for (int64_t i = r * width_; i < (r + 1) * width_; ++i) {
      loss += static_cast<double>(block.error[static_cast<size_t>(i)]) *
              static_cast<double>(block.gradient[static_cast<size_t>(i)]);
    }
    candidate.loss[static_cast<size_t>(r)] = loss;
  }
}

/// Column after column, each code against the target that the errors so far have moved (Frantar et al., arXiv
/// 2210.17323, in the form of a triangular feedback: Chee et al., arXiv 2307.13304).
void RowSolver::feed_back(Block& block, Candidate& candidate) const {
  const FloatBlock feedback = block_of(curvature_->feedback, width_);
  const FloatBlock moved = block_of(block.gradient, width_);
  const FloatBlock error = block_of(block.error, width_);
  std::fill(block.gradient.begin(), block.gradient.end(), 0.0F);
  for (int64_t begin = 0; begin < width_; begin += kFeedbackBlock) {
    const int64_t end = std::min(begin + kFeedbackBlock, width_);
    for (int64_t r = 0; r < block.rows; ++r) {
      for (int64_t i = begin; i < end; ++i) {
        const size_t at = static_cast<size_t>(r * width_ + i);
        const Grid grid = grid_at(candidate, r, i);
        candidate.codes[at] = nearest_code(block.target[at] + block.gradient[at], grid, settings_.kind);
        block.error[at] = block.target[at] - value_of(candidate.codes[at], grid);
        accumulate_scaled(moved.row(r) + i + 1, feedback.row(i) + i + 1, block.error[at], end - i - 1);
      }
    }
    accumulate_product(moved.from(end), error.from(begin), FloatBlock{feedback.row(begin), width_}.from(end),
                       block.rows, end - begin, width_ - end);
  }
  measure(block, candidate);
}

/// Moves single codes while that lowers the loss: the loss is a quadratic of each code, so its best value is
/// known.
void RowSolver::descend_row(Block& block, Candidate& candidate, int64_t row) const {
  float* gradient = block.gradient.data() + row * width_;
  uint8_t* codes = candidate.codes.data() + row * width_;
  const int highest = settings_.kind.highest_code();
  for (int sweep = 0; sweep < settings_.descent_sweeps; ++sweep) {
    bool moved = false;
    for (int64_t i = 0; i < width_; ++i) {
      const float scale = grid_at(candidate, row, i).scale;
      const float curvature = importance_[static_cast<size_t>(i)] * scale;
      if (!(curvature > 0)) continue;
      const float wanted = static_cast<float>(codes[i]) + gradient[i] / curvature;
      const int code = static_cast<int>(round_even(std::clamp(wanted, 0.0F, static_cast<float>(highest))));
      const int step = code - static_cast<int>(codes[i]);
      if (step == 0) continue;
      codes[i] = static_cast<uint8_t>(code);
      accumulate_scaled(gradient, curvature_->squares.data() + i * width_, -static_cast<float>(step) * scale,
                        width_);
      moved = true;
    }
    if (!moved) break;
  }
}

/// With the codes fixed, the row is linear in its scales: least squares in H, kept where within 0.5 to 2 of
/// the old ones.
void RowSolver::refit_row(const Block& block, Candidate& candidate, int64_t row) const {
  const int64_t groups = groups_;
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(groups, groups);
  Eigen::VectorXd right(groups);
  Eigen::VectorXd old(groups);
  std::vector<float> product(static_cast<size_t>(width_));
  const uint8_t* codes = candidate.codes.data() + row * width_;
  Grid* grids = candidate.grids.data() + row * groups;
  const auto step = [&](int64_t i) {
    return static_cast<float>(static_cast<int>(codes[i]) - grids[group_at_[static_cast<size_t>(i)]].zero);
  };
  const float* gradient = block.gradient.data() + row * width_;
  for (int64_t g = 0; g < groups; ++g) {
    std::fill(product.begin(), product.end(), 0.0F);
    double moment = 0;
    for (const int32_t i : members_[static_cast<size_t>(g)]) {
      accumulate_scaled(product.data(), curvature_->squares.data() + i * width_, step(i), width_);
      moment += static_cast<double>(step(i)) * static_cast<double>(gradient[i]);
    }
    for (int64_t i = 0; i < width_; ++i) {
      normal(group_at_[static_cast<size_t>(i)], g) +=
          static_cast<double>(step(i)) * static_cast<double>(product[static_cast<size_t>(i)]);
    }
    right(g) = moment;
    old(g) = static_cast<double>(grids[g].scale);
  }
  normal.diagonal().array() += kRidge * normal.diagonal().mean();
  const Eigen::VectorXd change = normal.ldlt().solve(right);
  for (int64_t g = 0; g < groups; ++g) {
    const double scale = old(g) + change(g);
    if (scale >= 0.5 * old(g) && scale <= 2 * old(g))
      grids[g].scale = stored_scale(static_cast<float>(scale));
  }
}

void RowSolver::descend(Block& block, Candidate& candidate) const {
  for (int64_t r = 0; r < block.rows; ++r) descend_row(block, candidate, r);
  measure(block, candidate);
}

void RowSolver::refit(Block& block, Candidate& candidate) const {
  for (int64_t r = 0; r < block.rows; ++r) refit_row(block, candidate, r);
  measure(block, candidate);
}

/// Takes the rows of `candidate` that have less loss.
void RowSolver::keep_better(const Candidate& candidate, Candidate& best) const {
  for (size_t r = 0; r < best.loss.size(); ++r) {
    if (!(candidate.loss[r] < best.loss[r])) continue;
    const int64_t row = static_cast<int64_t>(r);
    std::copy_n(candidate.codes.begin() + row * width_, width_, best.codes.begin() + row * width_);
    std::copy_n(candidate.grids.begin() + row * groups_, groups_, best.grids.begin() + row * groups_);
    best.loss[r] = candidate.loss[r];
  }
}

/// Feedback from several starting scales, each followed by rounds that refit the scales. `best` holds the
/// rounded rows.
void RowSolver::search(Block& block, Candidate& best) const {
  Candidate searched(block.rows, width_, groups_);
  set_grids(block.target, importance_, searched);
  const size_t starts = settings_.refit_rounds > 0 ? kStarts.size() : 1;
  for (size_t start = 0; start < starts; ++start) {
    Candidate candidate = searched;
    for (Grid& grid : candidate.grids) grid.scale = stored_scale(grid.scale * kStarts[start]);
    for (int round = 0;; ++round) {
      feed_back(block, candidate);
      descend(block, candidate);
      keep_better(candidate, best);
      if (round == settings_.refit_rounds) break;
      for (int polish = 0; polish < kPolish; ++polish) {
        refit(block, candidate);
        descend(block, candidate);
        keep_better(candidate, best);
      }
      refit(block, candidate);
    }
  }
}

SolvedRows RowSolver::solve(const std::vector<float>& weights, int64_t rows) const {
  TERCET_CHECK_EQ(static_cast<int64_t>(weights.size()), rows * width_);
  Block block(rows, width_);
  load(weights, block);
  Candidate best(rows, width_, groups_);
  set_grids(block.weights, {}, best);
  round(block, best);
  SolvedRows result(rows, width_, groups_);
  result.rtn_loss = best.loss;
  if (settings_.feedback) {
    search(block, best);
  } else if (settings_.scale_search) {
    set_grids(block.weights, std::vector<float>(importance_.size(), 1), best);
    round(block, best);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < width_; ++i) {
      const size_t at = static_cast<size_t>(r * width_ + i);
      const int64_t col = curvature_ == nullptr ? i : curvature_->order[static_cast<size_t>(i)];
      const double weight = static_cast<double>(block.weights[at]);
      const double error = static_cast<double>(value_of(best.codes[at], grid_at(best, r, i))) - weight;
      result.codes[static_cast<size_t>(r * width_ + col)] = best.codes[at];
      result.error[static_cast<size_t>(r)] += error * error;
      result.power[static_cast<size_t>(r)] += weight * weight;
    }
  }
  result.grids = std::move(best.grids);
  result.loss = std::move(best.loss);
  return result;
}

}  // namespace tercet
