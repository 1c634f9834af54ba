#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "quant/mixed_source.h"
#include "quant/plan.h"

namespace tercet {

/// The output has one shard a layer and one for the rest: "model-00003-of-00009.safetensors" holds layer 2.
std::string shard_name(const ModelConfig& config, int64_t part);

/// Modules that are kept and were integers in the source already: they are packed anew, with the same codes.
std::vector<FoundTensor> kept_integers(const Checkpoint& source,
                                       const std::vector<std::vector<MatrixPlan>>& plan);

/// Writes the shard of a part: the matrices in `mixed` in the GPTQ container, everything else of the part as
/// it is stored. Fused experts of which some are quantized are written one by one.
void write_shard(const Checkpoint& source, const MixedSource& mixed, int64_t part, bool gptq_v1,
                 const std::string& folder);

/// Reads matrices back out of a part's shard in `folder` into `mixed`.
void read_shard(const Checkpoint& source, const std::vector<MatrixPlan>& plan, const QuantizeOptions& options,
                int64_t part, const std::string& folder, MixedSource& mixed);

/// Writes model.safetensors.index.json over all shards in `folder`.
void write_index(const ModelConfig& config, const std::string& folder);

}  // namespace tercet
