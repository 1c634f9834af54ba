#pragma once

#include <cstdint>

#include "model/weights.h"
#include "model/workspace.h"
#include "ops/backend.h"

namespace tercet {

/// A place in the forward pass that calibration and golden tests look at.
enum class Tap {
  kEmbedding,    // hidden state after the embedding [T, hidden]
  kMixerInput,   // normed input of the mixer's input projections [T, hidden]
  kMixerOutput,  // input of o_proj [T, heads * head_dim] or out_proj [T, value_dim]
  kFfnInput,     // normed input of router, experts and MLP [T, hidden]
  kRouting,      // expert indices, I32 [T, top_k]
  kLayerOutput,  // hidden state after the layer [T, hidden]
  kFinalNorm,    // hidden state after the final norm [T, hidden]
};

/// Sees values while they are made; there is none while serving. `layer` is -1 outside the layers.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void observe(Tap tap, int64_t layer, const TensorView& value) = 0;
};

/// What the functions of one step share. The state is written, the workspace overwritten.
struct StepContext {
  Backend& backend;
  const ModelConfig& config;
  Workspace& workspace;
  State& state;
  const Constant& inverse_frequencies;  // [1, rotary_dim / 2]
  int64_t rows = 0;
  Observer* observer = nullptr;
};

/// Rotation frequencies rope_theta^(-2i / rotary_dim).
Constant rope_frequencies(Backend& backend, const ModelConfig& config);

/// The halves of a decoder layer on workspace.hidden in place: h += mixer(norm(h)), h += ffn(norm(h)).
/// `layer` numbers the taps; `state_layer` is the layer's place among the layers of its kind.
void add_mixer(StepContext& context, const LayerWeights& weights, int64_t layer, int64_t state_layer);
void add_ffn(StepContext& context, const LayerWeights& weights, int64_t layer);

/// One decoder layer: both halves.
void decoder_layer(StepContext& context, const LayerWeights& weights, int64_t layer, int64_t state_layer);

/// The place of each layer among the layers of its kind.
std::vector<int64_t> state_layers(const ModelConfig& config);

/// A bound model with its planned memory. One step at a time; the caller owns the state.
class Model {
 public:
  /// Plans the backend and the workspace for steps within `size`.
  Model(Backend& backend, const ModelConfig& config, ModelWeights weights, const StepSize& size);

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }
  Backend& backend() { return backend_; }
  bool has_mtp() const { return !weights_.mtp.empty(); }

  /// Runs a step; logits [logit rows, vocab] in backend memory, overwritten by the next step.
  TensorView forward(const Step& step, State& state, Observer* observer = nullptr);

  /// The draft head. `step` holds token i + 1 at position i, and `hidden` [T, hidden] the final-norm hidden
  /// states of positions i (Tap::kFinalNorm) in backend memory; logits predict token i + 2.
  TensorView forward_mtp(const Step& step, const TensorView& hidden, State& state);

 private:
  StepContext begin(const Step& step, State& state, Observer* observer);
  TensorView head(const TensorView& normed, int64_t logit_rows);

  Backend& backend_;
  ModelConfig config_;
  ModelWeights weights_;
  Workspace workspace_;
  Constant inverse_frequencies_;
  std::vector<int64_t> state_layers_;
};

}  // namespace tercet
