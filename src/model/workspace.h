#pragma once

#include "checkpoint/model_config.h"
#include "ops/backend.h"

namespace tercet {

/// The largest step, in the terms a caller chooses.
struct StepSize {
  int64_t rows = 512;  // T: rows of all sequences together
  int64_t sequences = 1;
  int64_t context = 4096;  // positions of the longest sequence
  int64_t logit_rows = 1;  // L: rows whose logits are wanted
};

/// What one sequence's state takes for this model: its attention layers (with `mtp` the draft head's, last)
/// and GDN layers.
StateShape state_shape(const ModelConfig& config, bool mtp);

/// What Backend::plan needs for steps of this size.
StepLimits step_limits(const ModelConfig& config, const StepSize& size);

/// The activations of a step, planned once, in one buffer. Views have the largest step's rows; forward cuts
/// them.
struct Workspace {
  Workspace(Backend& backend, const ModelConfig& config, const StepSize& size);

  TensorView hidden;  // [T, hidden] the residual stream
  TensorView normed;  // [T, hidden] input of a mixer or feed-forward
  TensorView branch;  // [T, hidden] output of a mixer or feed-forward, before it is added

  // gated attention
  TensorView query_gate;   // [T, heads * 2 * head_dim]
  TensorView query, gate;  // [T, heads * head_dim]
  TensorView key, value;   // [T, kv_heads * head_dim]
  TensorView attended;     // [T, heads * head_dim]

  // Gated DeltaNet
  TensorView qkv, convolved;     // [T, conv_channels]
  TensorView z, delta, gated;    // [T, value_dim]
  TensorView a, b, decay, beta;  // [T, value_heads]

  // feed-forward
  TensorView router_logits;              // [T, experts]
  TensorView expert_index;               // I32 [T, top_k]
  TensorView expert_weight;              // [T, top_k]
  TensorView mlp_gate, mlp_up, mlp_act;  // [T, width of the shared or dense MLP]
  TensorView shared;                     // [T, hidden]
  TensorView shared_gate;                // [T, 1]

  // head
  TensorView last_hidden;  // [L, hidden]
  TensorView logits;       // [L, vocab]

 private:
  Buffer buffer_;
};

}  // namespace tercet
