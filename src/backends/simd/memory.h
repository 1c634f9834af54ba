#pragma once

#include <cstdint>

#include "ops/backend.h"

namespace tercet::simd {

/// Zeroed memory, 64-byte aligned. Large blocks come in pages of 2 MB where the system has them, since
/// walking page tables slows streaming through weights, and take no memory before their first use. Throws
/// Error(kDevice) where the system has less than a large block.
Buffer allocate_memory(int64_t bytes);

}  // namespace tercet::simd
