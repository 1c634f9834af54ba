#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "logit_windows.h"
#include "model/divergence.h"

namespace tercet {

/// What a text says of a model, and with a reference of the distance to it.
struct TextScore {
  int64_t tokens = 0;
  double cross_entropy = 0;            // nats a token, the mean over the predicted tokens of every window
  double reference_cross_entropy = 0;  // of model 1, if there is one
  Divergence divergence;  // of model 0 from model 1, over all positions; empty without a reference
};

/// Scores model 0 on the windows, against model 1 if there is one. `on_window` hears how many windows are
/// done.
TextScore score_windows(std::span<Model* const> models, const StepSize& size,
                        std::span<const std::span<const int32_t>> windows, ThreadPool& pool,
                        const std::function<void(int64_t)>& on_window);

/// The logits of all positions of all windows, in order: [windows * length, vocab].
std::vector<float> window_logits(Model& model, const StepSize& size,
                                 std::span<const std::span<const int32_t>> windows);

/// Compares rows of logits [rows, vocab] position by position.
Divergence compare_rows(std::span<const float> reference, std::span<const float> model, int64_t vocab,
                        ThreadPool& pool);

}  // namespace tercet
