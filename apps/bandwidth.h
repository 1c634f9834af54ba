#pragma once

#include "ops/backend.h"

namespace tercet {

/// Bytes a second that `threads` (0: all cores) read from a buffer much larger than the caches; the best of
/// several passes.
double cpu_read_bandwidth(int threads);

/// Bytes a second that a device moves in x += y on large tensors (two reads, one write); the best of several
/// passes.
double device_bandwidth(Backend& backend);

}  // namespace tercet
