#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"

namespace tercet {

/// What a tensor is for, which decides the forms it may be stored in.
enum class TensorKind {
  kEmbedding,   // [vocabulary, hidden]
  kHead,        // [vocabulary, hidden]
  kLinear,      // [outputs, inputs]
  kRouter,      // [experts, hidden]
  kSharedGate,  // [1, hidden]
  kExperts,     // [experts, outputs, inputs], fused; may be stored as one matrix an expert
  kNorm,        // [width]
  kConv,        // [channels, 1, taps]
  kDecay,       // A_log, dt_bias: [value heads]
  kVision       // anything of the vision tower
};

/// A tensor that a configuration implies.
struct TensorSpec {
  std::string name;  // canonical, with ".weight" where the published file has it
  std::vector<int64_t> shape;
  TensorKind kind = TensorKind::kLinear;
  std::string component;  // "embedding", "head", "gdn", "attention", "routed_experts", "shared_experts",
                          // "mlp", "router", "norms", "mtp", "vision"

  int64_t parameters() const;
  /// The name without ".weight".
  std::string module() const;
  /// Whether the matrix (or each matrix of fused experts) may be stored as integers.
  bool quantizable() const;
};

/// Every tensor of the published layout, in the order of the forward pass: embedding, layers, norm, head
/// (unless tied), MTP, vision. Experts are fused.
std::vector<TensorSpec> expected_tensors(const ModelConfig& config);

/// One matrix of fused experts under its own name.
struct ExpertMatrix {
  std::string name;       // "gate_proj", "up_proj", "down_proj"
  int64_t first_row = 0;  // among the rows of the fused matrix of one expert
  int64_t rows = 0;
};

/// The matrices that one expert of a fused tensor [experts, rows, cols] holds: gate and up, or down.
std::vector<ExpertMatrix> expert_matrices(const TensorSpec& fused);

}  // namespace tercet
