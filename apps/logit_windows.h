#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/model.h"

namespace tercet {

/// Steps for windows of `length` tokens with logits at every row, held to about 128 MiB of logits.
StepSize window_step_size(const ModelConfig& config, int64_t length);

/// Logits of consecutive positions of one window, from every model.
struct WindowLogits {
  int64_t window = 0;    // its place in the list
  int64_t position = 0;  // of the first row
  int64_t rows = 0;
  int64_t vocab = 0;
  std::vector<const float*> models;  // [rows, vocab] each, in host memory until the visit ends

  std::span<const float> row(size_t model, int64_t i) const {
    return {models[model] + i * vocab, static_cast<size_t>(vocab)};
  }
};

/// Runs windows of equal length, each from an empty state, through models side by side: several windows a
/// step, or a window in several steps. The models must have one vocabulary and be planned for `size`.
void run_windows(std::span<Model* const> models, const StepSize& size,
                 std::span<const std::span<const int32_t>> windows,
                 const std::function<void(const WindowLogits&)>& visit);

}  // namespace tercet
