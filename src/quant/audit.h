#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/weight_source.h"
#include "model/divergence.h"
#include "ops/backend.h"

namespace tercet {

/// KL(reference || model), top-1 and top-5 over all positions of the windows, with one layer of each model
/// bound at a time. Plans the backend.
Divergence measure_divergence(Backend& backend, const WeightSource& reference, const WeightSource& model,
                              const std::vector<std::vector<int32_t>>& windows, ThreadPool& pool);

}  // namespace tercet
