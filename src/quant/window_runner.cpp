#include "quant/window_runner.h"

#include <algorithm>
#include <numeric>

namespace tercet {
namespace {

StepSize step_size(int64_t length) {
  return {.rows = std::min(length, WindowRunner::kChunkRows),
          .sequences = 1,
          .context = length,
          .logit_rows = std::min(length, WindowRunner::kLogitRows)};
}

int64_t pages_of(int64_t length) {
  return (length + kPageSize - 1) / kPageSize;
}

/// The state of one layer of either kind: windows pass a layer at a time.
StateShape one_layer_shape(const ModelConfig& config) {
  StateShape shape = state_shape(config, false);
  shape.attention_layers = std::min<int64_t>(shape.attention_layers, 1);
  shape.gdn_layers = std::min<int64_t>(shape.gdn_layers, 1);
  return shape;
}

}  // namespace

WindowRunner::WindowRunner(Backend& backend, const ModelConfig& config,
                           const std::vector<std::vector<int32_t>>& windows)
    : backend_(backend),
      config_(config),
      windows_(windows),
      length_(static_cast<int64_t>(windows.front().size())),
      workspace_(backend, config, step_size(length_)),
      inverse_frequencies_(rope_frequencies(backend, config)) {
  backend.plan(step_limits(config, step_size(length_)));
  for (auto& state : states_) state = backend.create_state(one_layer_shape(config), pages_of(length_), 1);
}

void WindowRunner::each_chunk(const std::function<void(const Chunk&)>& visit) {
  Step step;
  step.pages.resize(static_cast<size_t>(pages_of(length_)));
  std::iota(step.pages.begin(), step.pages.end(), 0);
  Chunk chunk;
  for (const std::vector<int32_t>& window : windows_) {
    for (int64_t position = 0; position < length_; position += chunk.rows) {
      chunk.rows = std::min(kChunkRows, length_ - position);
      step.tokens.assign(window.begin() + position, window.begin() + position + chunk.rows);
      step.sequences = {
          {.first_row = 0, .rows = chunk.rows, .position = position, .slot = 0, .first_page = 0}};
      backend_.begin_step(step);
      visit(chunk);
      chunk.first += chunk.rows;
    }
  }
}

StepContext WindowRunner::context(int lane, const Chunk& chunk, Observer* observer) {
  return {backend_, config_, workspace_, *states_[lane], inverse_frequencies_, chunk.rows, observer};
}

Stream WindowRunner::embed(const Weight& table) {
  Stream stream(static_cast<size_t>(tokens() * config_.hidden_size));
  each_chunk([&](const Chunk& chunk) {
    backend_.embed(backend_.tokens(), table, workspace_.hidden.first_rows(chunk.rows));
    store(stream, chunk);
  });
  return stream;
}

TensorView WindowRunner::load(const Stream& stream, const Chunk& chunk) {
  const TensorView hidden = workspace_.hidden.first_rows(chunk.rows);
  backend_.upload(hidden.data, stream.data() + chunk.first * config_.hidden_size, hidden.bytes());
  return hidden;
}

void WindowRunner::store(Stream& stream, const Chunk& chunk) {
  const TensorView hidden = workspace_.hidden.first_rows(chunk.rows);
  backend_.download(stream.data() + chunk.first * config_.hidden_size, hidden.data, hidden.bytes());
}

void WindowRunner::advance_mixer(int lane, const LayerWeights& weights, int64_t layer, Stream& stream) {
  each_chunk([&](const Chunk& chunk) {
    load(stream, chunk);
    StepContext step = context(lane, chunk, nullptr);
    add_mixer(step, weights, layer, 0);
    store(stream, chunk);
  });
}

void WindowRunner::advance_ffn(int lane, const LayerWeights& weights, int64_t layer, Stream& stream) {
  each_chunk([&](const Chunk& chunk) {
    load(stream, chunk);
    StepContext step = context(lane, chunk, nullptr);
    add_ffn(step, weights, layer);
    store(stream, chunk);
  });
}

}  // namespace tercet
