#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/sampling.h"
#include "options.h"

namespace tercet {

/// What generation_config.json says: how tokens are chosen unless asked otherwise, and which ids end a reply.
struct GenerationConfig {
  SamplingParams sampling;
  std::vector<int32_t> stop_ids;
};

/// Reads `generation_config.json` of a model folder; without one, the largest logit is taken. Where it names
/// no stop id, those of config.json are taken, and if there is none either a warning says so. Throws
/// Error(kCheckpoint) where a value has the wrong type or is out of range.
GenerationConfig read_generation_config(const std::string& folder);

/// The defaults with the command line's values in their place.
SamplingParams merge(SamplingParams defaults, const SamplingOptions& options);

}  // namespace tercet
