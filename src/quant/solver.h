#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "quant/curvature.h"
#include "quant/grid.h"

namespace tercet {

/// How one matrix is to be solved.
struct SolveSettings {
  bool feedback =
      true;  // gptq: errors move the targets of later columns; else every weight is rounded by itself
  GridKind kind;
  int64_t group_size = 128;  // at most the width
  bool scale_search = true;
  bool desc_act = false;  // groups are consecutive in the solve order; feedback only
  int refit_rounds = 2;
  int descent_sweeps = 8;  // at most, over single codes behind the feedback
};

/// Rows of a matrix and what they became.
struct SolvedRows {
  explicit SolvedRows(int64_t rows, int64_t width, int64_t groups)
      : codes(static_cast<size_t>(rows * width)),
        grids(static_cast<size_t>(rows * groups)),
        loss(static_cast<size_t>(rows)),
        rtn_loss(loss.size()),
        error(loss.size()),
        power(loss.size()) {}

  std::vector<uint8_t> codes;    // [rows, K], columns in their own order
  std::vector<Grid> grids;       // [rows, groups]
  std::vector<double> loss;      // (q - w*) H (q - w*)^T
  std::vector<double> rtn_loss;  // the same of plain rounding with the largest value as scale
  std::vector<double> error;     // |q - w|^2
  std::vector<double> power;     // |w|^2
};

/// Solves rows of matrices that share their inputs; rows are independent of each other, so that any cut into
/// calls gives the same bits. Thread-safe. Without feedback in the curvature (no statistics, or no
/// factorization) rows can only be rounded, and without H too the loss is |q - w|^2.
class RowSolver {
 public:
  /// `curvature` may be null; it must outlive the solver.
  RowSolver(const Curvature* curvature, int64_t width, const SolveSettings& settings);

  int64_t groups() const { return groups_; }
  /// Group of each column, in the columns' own order; empty where it is k / group_size.
  std::vector<int32_t> group_index() const;
  /// `weights` [rows, K] finite.
  SolvedRows solve(const std::vector<float>& weights, int64_t rows) const;

 private:
  struct Candidate;
  struct Block;

  void load(const std::vector<float>& weights, Block& block) const;
  std::vector<float> gather(const float* row, int64_t group) const;
  void round(Block& block, Candidate& candidate) const;
  void feed_back(Block& block, Candidate& candidate) const;
  void descend(Block& block, Candidate& candidate) const;
  void descend_row(Block& block, Candidate& candidate, int64_t row) const;
  void measure(Block& block, Candidate& candidate) const;
  void refit(Block& block, Candidate& candidate) const;
  void refit_row(const Block& block, Candidate& candidate, int64_t row) const;
  void keep_better(const Candidate& candidate, Candidate& best) const;
  void search(Block& block, Candidate& best) const;
  Grid grid_at(const Candidate& candidate, int64_t row, int64_t place) const;
  void set_grids(const std::vector<float>& rows, const std::vector<float>& importance,
                 Candidate& candidate) const;

  const Curvature* curvature_;
  SolveSettings settings_;
  int64_t width_;
  int64_t groups_;
  std::vector<int32_t> group_at_;              // [K] group of each place in the solve order
  std::vector<std::vector<int32_t>> members_;  // places of each group
  std::vector<float> importance_;              // [K] diag H in solve order, or ones
};

}  // namespace tercet
