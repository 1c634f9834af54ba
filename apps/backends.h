#pragma once

#include <memory>
#include <string>

#include "ops/backend.h"
#include "options.h"

namespace tercet {

/// Opens what --backend, --device, --threads and --exact ask for: CUDA where it is built in and a device
/// answers (or is asked for), else the vectorized CPU. Throws Error(kUsage) where the options contradict each
/// other, Error(kDevice) where the device is missing.
std::unique_ptr<Backend> open_backend(const CommonOptions& options);

/// Whether the options choose a CPU.
bool runs_on_cpu(const CommonOptions& options);

/// What the vectorized CPU backend runs here: "simd (avx512)".
std::string picked_isa();

}  // namespace tercet
