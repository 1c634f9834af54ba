#include "quant/group_solver.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stopwatch.h"
#include "quant/solver.h"

namespace tercet {
namespace {

constexpr int64_t kRowBlock = 64;  // rows in work at a time: bounds the memory of wide heads

/// Runs fn(begin, end) over items, perhaps on several threads.
using ForEach = std::function<void(int64_t items, const std::function<void(int64_t, int64_t)>&)>;

std::vector<float> read_rows(const CanonicalMatrix& matrix, int64_t first, int64_t rows,
                             const std::string& name) {
  const int64_t cols = cols_of(matrix);
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (int64_t r = 0; r < rows; ++r) row_to_floats(matrix, first + r, values.data() + r * cols);
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
    throw Error(
        ErrorKind::kCheckpoint,
        "a weight to be quantized is not finite; fetch the model again or keep the module by a recipe",
        {.tensor = name, .expected = "finite weights", .found = "NaN or infinity"});
  }
  return values;
}

/// Sums over rows, each in its place until all are known: the order of addition is fixed.
struct RowSums {
  explicit RowSums(int64_t rows)
      : loss(static_cast<size_t>(rows)), rtn_loss(loss.size()), error(loss.size()), power(loss.size()) {}

  void take(const SolvedRows& rows, int64_t first) {
    std::copy(rows.loss.begin(), rows.loss.end(), loss.begin() + first);
    std::copy(rows.rtn_loss.begin(), rows.rtn_loss.end(), rtn_loss.begin() + first);
    std::copy(rows.error.begin(), rows.error.end(), error.begin() + first);
    std::copy(rows.power.begin(), rows.power.end(), power.begin() + first);
  }
  static double sum(const std::vector<double>& values) {
    double total = 0;
    for (const double value : values) total += value;
    return total;
  }

  std::vector<double> loss, rtn_loss, error, power;
};

void store(const SolvedRows& rows, int64_t first, QuantizedMatrix& out) {
  const int64_t groups = out.groups();
  std::copy(rows.codes.begin(), rows.codes.end(), out.codes.begin() + first * out.cols);
  for (size_t i = 0; i < rows.grids.size(); ++i) {
    const size_t at = static_cast<size_t>(first * groups) + i;
    out.scales[at] = rows.grids[i].scale;
    if (!out.zeros.empty()) out.zeros[at] = static_cast<uint8_t>(rows.grids[i].zero);
  }
}

class GroupSolver {
 public:
  GroupSolver(const WeightSource& source, const SolveGroup& group, const QuantizeOptions& options)
      : source_(source), group_(group), options_(options), fallback_(group.shortage) {
    if (!group.statistics) return;
    const Stopwatch watch;
    InputStatistics statistics = group.statistics();
    if (!is_finite(statistics)) {
      throw Error(ErrorKind::kCheckpoint,
                  "the inputs of a matrix are not finite: a norm, router, convolution or embedding before it "
                  "is damaged; fetch the model again",
                  {.tensor = group.matrices.front().disk_name,
                   .expected = "finite inputs",
                   .found = "NaN or infinity"});
    }
    std::string failure;
    curvature_ = factor(std::move(statistics), options.damp, &failure);
    if (fallback_.empty()) fallback_ = failure;
    seconds_ = watch.seconds() / static_cast<double>(group.matrices.size());
  }

  SolvedMatrix solve(const MatrixPlan& plan, const ForEach& for_each) const {
    const Stopwatch watch;
    const CanonicalMatrix weights = source_.matrix(plan.linear.module);
    const int64_t rows = rows_of(weights);
    const int64_t cols = cols_of(weights);
    const SolveSettings settings = settings_for(plan.settings, cols);
    const RowSolver solver(curvature_ ? &*curvature_ : nullptr, cols, settings);
    SolvedMatrix solved;
    solved.matrix = empty_matrix(settings, rows, cols);
    solved.matrix.group_index = solver.group_index();
    RowSums sums(rows);
    for_each((rows + kRowBlock - 1) / kRowBlock, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kRowBlock;
        const int64_t count = std::min(kRowBlock, rows - first);
        const SolvedRows part = solver.solve(read_rows(weights, first, count, plan.disk_name), count);
        store(part, first, solved.matrix);
        sums.take(part, first);
      }
    });
    solved.result = describe(plan, settings, sums);
    solved.result.seconds = seconds_ + watch.seconds();
    return solved;
  }

 private:
  SolveSettings settings_for(const MatrixSettings& plan, int64_t cols) const {
    SolveSettings settings;
    settings.feedback = plan.method == QuantizeMethod::kGptq && fallback_.empty();
    settings.kind = {plan.bits, options_.symmetric};
    settings.group_size = plan.group_size < 0 ? cols : std::min(plan.group_size, cols);
    settings.scale_search = settings.feedback || options_.scale_search;
    settings.desc_act = settings.feedback && options_.desc_act;
    settings.refit_rounds = options_.refit_rounds;
    return settings;
  }

  static QuantizedMatrix empty_matrix(const SolveSettings& settings, int64_t rows, int64_t cols) {
    QuantizedMatrix matrix;
    matrix.bits = settings.kind.bits;
    matrix.rows = rows;
    matrix.cols = cols;
    matrix.group_size = settings.group_size;
    matrix.codes.resize(static_cast<size_t>(rows * cols));
    matrix.scales.resize(static_cast<size_t>(rows * matrix.groups()));
    if (!settings.kind.symmetric) matrix.zeros.resize(matrix.scales.size());
    return matrix;
  }

  MatrixResult describe(const MatrixPlan& plan, const SolveSettings& settings, const RowSums& sums) const {
    MatrixResult result;
    result.module = plan.linear.module;
    result.disk_name = plan.disk_name;
    result.method = settings.feedback ? QuantizeMethod::kGptq : QuantizeMethod::kRtn;
    result.bits = plan.settings.bits;
    result.group_size = plan.settings.group_size;
    result.loss = RowSums::sum(sums.loss);
    result.rtn_loss = RowSums::sum(sums.rtn_loss);
    const double power = RowSums::sum(sums.power);
    result.relative_error = power > 0 ? std::sqrt(RowSums::sum(sums.error) / power) : 0;
    result.samples = group_.samples;
    result.damp = settings.feedback ? curvature_->damp : 0;
    if (plan.settings.method == QuantizeMethod::kGptq) result.fallback_reason = fallback_;
    return result;
  }

  const WeightSource& source_;
  const SolveGroup& group_;
  const QuantizeOptions& options_;
  std::optional<Curvature> curvature_;
  std::string fallback_;
  double seconds_ = 0;  // a matrix's share of the factorization
};

std::vector<SolvedMatrix> solve_group(const WeightSource& source, const SolveGroup& group,
                                      const QuantizeOptions& options, const ForEach& for_each) {
  const GroupSolver solver(source, group, options);
  std::vector<SolvedMatrix> solved;
  for (const MatrixPlan& plan : group.matrices) solved.push_back(solver.solve(plan, for_each));
  return solved;
}

}  // namespace

std::vector<SolvedMatrix> solve_groups(const WeightSource& source, const std::vector<SolveGroup>& groups,
                                       const QuantizeOptions& options, ThreadPool& pool) {
  std::vector<std::vector<SolvedMatrix>> parts(groups.size());
  if (static_cast<int64_t>(groups.size()) >= 2 * pool.threads()) {
    const ForEach alone = [](int64_t items, const auto& fn) { fn(0, items); };
    pool.parallel_for(static_cast<int64_t>(groups.size()), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const size_t at = static_cast<size_t>(i);
        parts[at] = solve_group(source, groups[at], options, alone);
      }
    });
  } else {
    const ForEach together = [&](int64_t items, const auto& fn) {
      pool.parallel_for(items, [&](int64_t begin, int64_t end, int) { fn(begin, end); });
    };
    for (size_t i = 0; i < groups.size(); ++i) parts[i] = solve_group(source, groups[i], options, together);
  }
  std::vector<SolvedMatrix> all;
  for (std::vector<SolvedMatrix>& part : parts) {
    for (SolvedMatrix& solved : part) all.push_back(std::move(solved));
  }
  return all;
}

}  // namespace tercet
