#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/weight_source.h"
#include "quant/curvature.h"
#include "quant/plan.h"

namespace tercet {

/// Matrices with the same inputs, solved with one Hessian.
struct SolveGroup {
  std::vector<MatrixPlan> matrices;
  int64_t samples = 0;                          // tokens seen; 0 without calibration
  std::function<InputStatistics()> statistics;  // empty without calibration
  std::string shortage;  // why the statistics are too thin to solve with; empty if they are not
};

/// What became of one matrix.
struct MatrixResult {
  std::string module;  // canonical
  std::string disk_name;
  QuantizeMethod method = QuantizeMethod::kRtn;
  int bits = 0;
  int64_t group_size = 0;
  double loss = 0;            // tr((Q - W*) H (Q - W*)^T); without calibration |Q - W|^2
  double rtn_loss = 0;        // of plain rounding
  double relative_error = 0;  // |Q - W| / |W|
  int64_t samples = 0;
  double damp = 0;
  double seconds = 0;
  std::string fallback_reason;  // why gptq was asked for and rtn used
};

struct SolvedMatrix {
  MatrixResult result;
  QuantizedMatrix matrix;
};

/// Solves the groups with all threads, many groups side by side or one group's rows; in the order of the
/// groups and their matrices. Throws Error(kCheckpoint) that names the tensor if a weight is not finite.
std::vector<SolvedMatrix> solve_groups(const WeightSource& source, const std::vector<SolveGroup>& groups,
                                       const QuantizeOptions& options, ThreadPool& pool);

}  // namespace tercet
