#include "logit_windows.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "runtime/sequence.h"

namespace tercet {
namespace {

/// One model's side: its sequences, and its logits on the host.
class Lane {
 public:
  Lane(Model& model, const StepSize& size)
      : model_(model),
        pool_(model.backend(), state_shape(model.config(), false), size.sequences * pages_for(size.context),
              size.sequences),
        logits_(static_cast<size_t>(size.logit_rows * model.config().vocab_size)) {}

  void start(size_t windows) {
    sequences_.clear();
    for (size_t i = 0; i < windows; ++i) sequences_.emplace_back(pool_);
  }

  /// Positions [begin, end) of every window in one step; logits [windows, end - begin, vocab].
  const float* advance(std::span<const std::span<const int32_t>> windows, size_t begin, size_t end) {
    Step step;
    for (size_t i = 0; i < windows.size(); ++i) {
      sequences_[i].append_to(step, windows[i].subspan(begin, end - begin), LogitRows::kAll);
    }
    const TensorView logits = model_.forward(step, pool_.state());
    model_.backend().download(logits_.data(), logits.data, logits.bytes());
    return logits_.data();
  }

 private:
  Model& model_;
  StatePool pool_;
  std::vector<float> logits_;
  std::vector<SequenceState> sequences_;
};

}  // namespace

StepSize window_step_size(const ModelConfig& config, int64_t length) {
  constexpr int64_t kLogits = int64_t{1} << 25;
  const int64_t rows =
      std::clamp(kLogits / config.vocab_size / kChunkSize * kChunkSize, kChunkSize, 16 * kChunkSize);
  const int64_t sequences = std::max<int64_t>(1, rows / length);
  return {.rows = rows, .sequences = sequences, .context = length, .logit_rows = rows};
}

void run_windows(std::span<Model* const> models, const StepSize& size,
                 std::span<const std::span<const int32_t>> windows,
                 const std::function<void(const WindowLogits&)>& visit) {
  if (windows.empty()) return;
  const size_t length = windows[0].size();
  const size_t chunk = std::min(length, static_cast<size_t>(size.rows));
  std::vector<std::unique_ptr<Lane>> lanes;
  for (Model* model : models) lanes.push_back(std::make_unique<Lane>(*model, size));

  WindowLogits logits;
  logits.vocab = models[0]->config().vocab_size;
  for (size_t first = 0; first < windows.size(); first += static_cast<size_t>(size.sequences)) {
    const auto group =
        windows.subspan(first, std::min(windows.size() - first, static_cast<size_t>(size.sequences)));
    for (auto& lane : lanes) lane->start(group.size());
    for (size_t begin = 0; begin < length; begin += chunk) {
      const size_t end = std::min(length, begin + chunk);
      std::vector<const float*> rows;
      for (auto& lane : lanes) rows.push_back(lane->advance(group, begin, end));
      logits.position = static_cast<int64_t>(begin);
      logits.rows = static_cast<int64_t>(end - begin);
      for (size_t i = 0; i < group.size(); ++i) {
        logits.window = static_cast<int64_t>(first + i);
        logits.models = rows;
        for (const float*& values : logits.models)
          values += static_cast<int64_t>(i) * logits.rows * logits.vocab;
        visit(logits);
      }
    }
  }
}

}  // namespace tercet
