#pragma once

#include <cstdint>

#include "model/weights.h"

namespace tercet {

/// Random weights of a model's shapes, made straight in the backend's layout: for speed measurements only,
/// the same for the same seed. At 4 bits all linears are quantized in groups of 128, the head too; embedding,
/// routers, shared gates, in_proj_a and in_proj_b stay BF16, as quantized checkpoints keep them. At 16 all
/// are BF16. No draft head. Activations stay of about unit size.
ModelWeights synthetic_weights(Backend& backend, const ModelConfig& config, int bits, uint64_t seed);

}  // namespace tercet
