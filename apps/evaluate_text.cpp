#include "evaluate_text.h"

#include <cmath>
#include <string>

#include "base/error.h"

namespace tercet {

TextScore score_windows(std::span<Model* const> models, const StepSize& size,
                        std::span<const std::span<const int32_t>> windows, ThreadPool& pool,
                        const std::function<void(int64_t)>& on_window) {
  TextScore score;
  double sum = 0;
  double reference_sum = 0;
  int64_t predicted = 0;
  std::vector<double> losses;
  std::vector<double> reference_losses;
  std::vector<PositionComparison> comparisons;
  run_windows(models, size, windows, [&](const WindowLogits& logits) {
    const std::span<const int32_t> tokens = windows[static_cast<size_t>(logits.window)];
    const int64_t length = static_cast<int64_t>(tokens.size());
    losses.assign(static_cast<size_t>(logits.rows), 0.0);
    reference_losses.assign(static_cast<size_t>(logits.rows), 0.0);
    comparisons.resize(static_cast<size_t>(logits.rows));
    pool.parallel_for(logits.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const size_t next = static_cast<size_t>(logits.position + i + 1);
        const std::span<const float> row = logits.row(0, i);
        const size_t at = static_cast<size_t>(i);
        if (next < tokens.size()) losses[at] = cross_entropy(row, tokens[next]);
        if (models.size() < 2) continue;
        comparisons[at] = compare_logits(logits.row(1, i), row);
        if (next < tokens.size()) reference_losses[at] = cross_entropy(logits.row(1, i), tokens[next]);
      }
    });
    for (const double loss : losses) sum += loss;
    for (const double loss : reference_losses) reference_sum += loss;
    double kl = 0;
    if (models.size() > 1) {
      for (const PositionComparison& comparison : comparisons) {
        kl += comparison.kl;
        score.divergence.add(comparison);
      }
    }
    if (!std::isfinite(sum + reference_sum + kl)) {
      const bool own = !std::isfinite(sum);
      throw Error(ErrorKind::kCheckpoint,
                  std::string("logits are not finite; the weights of the ") + (own ? "model" : "reference") +
                      " are damaged",
                  {.expected = "finite logits",
                   .found = "NaN or infinity in window " + std::to_string(logits.window)});
    }
    if (logits.position + logits.rows < length) return;
    score.tokens += length;
    predicted += length - 1;
    on_window(logits.window + 1);
  });
  score.cross_entropy = sum / static_cast<double>(predicted);
  score.reference_cross_entropy = reference_sum / static_cast<double>(predicted);
  return score;
}

std::vector<float> window_logits(Model& model, const StepSize& size,
                                 std::span<const std::span<const int32_t>> windows) {
  std::vector<float> rows;
  Model* models[] = {&model};
  run_windows(models, size, windows, [&](const WindowLogits& logits) {
    rows.insert(rows.end(), logits.models[0], logits.models[0] + logits.rows * logits.vocab);
  });
  return rows;
}

Divergence compare_rows(std::span<const float> reference, std::span<const float> model, int64_t vocab,
                        ThreadPool& pool) {
  const int64_t rows = static_cast<int64_t>(model.size()) / vocab;
  std::vector<PositionComparison> comparisons(static_cast<size_t>(rows));
  pool.parallel_for(rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t at = static_cast<size_t>(i * vocab);
      comparisons[static_cast<size_t>(i)] = compare_logits(reference.subspan(at, static_cast<size_t>(vocab)),
                                                           model.subspan(at, static_cast<size_t>(vocab)));
    }
  });
  Divergence divergence;
  for (const PositionComparison& comparison : comparisons) divergence.add(comparison);
  return divergence;
}

}  // namespace tercet
