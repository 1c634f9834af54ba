#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "model/model.h"

namespace tercet {

/// Hidden states of all tokens of all windows between two layers, fp32 in host memory [tokens, hidden].
using Stream = std::vector<float>;

/// Rows of one window that run as one step.
struct Chunk {
  int64_t first = 0;  // row of the stream
  int64_t rows = 0;
};

/// Runs windows through single layers of two models side by side ("lanes"): the hidden states wait in streams
/// while the weights of one layer at a time are bound. Windows start from an empty state. Plans the backend.
class WindowRunner {
 public:
  static constexpr int kLanes = 2;
  static constexpr int64_t kChunkRows = 256;
  static constexpr int64_t kLogitRows = 64;

  /// Windows of equal lengths, at least one; `windows` must outlive the runner.
  WindowRunner(Backend& backend, const ModelConfig& config, const std::vector<std::vector<int32_t>>& windows);

  Backend& backend() const { return backend_; }
  const ModelConfig& config() const { return config_; }
  int64_t tokens() const { return static_cast<int64_t>(windows_.size()) * length_; }
  Workspace& workspace() { return workspace_; }

  /// Calls `visit` for every chunk in order, the step begun.
  void each_chunk(const std::function<void(const Chunk&)>& visit);
  /// For add_mixer and add_ffn on one lane's state.
  StepContext context(int lane, const Chunk& chunk, Observer* observer);

  /// The embeddings of all tokens.
  Stream embed(const Weight& table);
  /// Rows of a stream into workspace.hidden, and back.
  TensorView load(const Stream& stream, const Chunk& chunk);
  void store(Stream& stream, const Chunk& chunk);
  /// A stream through half a layer, or both halves.
  void advance_mixer(int lane, const LayerWeights& weights, int64_t layer, Stream& stream);
  void advance_ffn(int lane, const LayerWeights& weights, int64_t layer, Stream& stream);

 private:
  Backend& backend_;
  const ModelConfig& config_;
  const std::vector<std::vector<int32_t>>& windows_;
  int64_t length_;
  Workspace workspace_;
  Constant inverse_frequencies_;
  std::unique_ptr<State> states_[kLanes];
};

}  // namespace tercet
