#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "quant/options.h"
#include "quant/recipe.h"

namespace tercet {

/// Matrices of a layer whose inputs are known at the same time, in the order in which they are solved.
enum class Phase { kMixerInput, kMixerOutput, kFfnInput, kFfnOutput, kHead };

/// A linear module of the text model that may be quantized.
struct LinearModule {
  std::string module;  // canonical: "layers.0.mlp.experts.5.gate_proj"
  Phase phase = Phase::kHead;
  int64_t expert = -1;  // whose tokens its inputs are; -1: all tokens
};

/// The modules of one layer in the order of the forward pass, experts before the shared expert. Routers,
/// shared gates, in_proj_a and in_proj_b are not among them: they are always kept.
std::vector<LinearModule> layer_modules(const ModelConfig& config, int64_t layer);

/// A matrix that will be quantized.
struct MatrixPlan {
  LinearModule linear;
  std::string disk_name;
  MatrixSettings settings;
};

/// Which matrices of `source` are quantized, and how: for each layer, then for the head (one or none).
std::vector<std::vector<MatrixPlan>> plan_matrices(const Checkpoint& source, const QuantizeOptions& options,
                                                   const Recipe& recipe);

/// The names of the rules that meet nothing: no matrix that may be quantized or, of rules that keep, no
/// module at all. Most likely they are mistyped.
std::vector<std::string> unused_rules(const Checkpoint& source, const Recipe& recipe);

/// The module without "layers.N.".
std::string local_name(const std::string& module);

}  // namespace tercet
