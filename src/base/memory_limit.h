#pragma once

#include <cstdint>

namespace tercet {

/// Memory that the system can still give, swap included: MemAvailable + SwapFree of /proc/meminfo; the
/// largest number where that cannot be read.
int64_t available_memory();

/// What this process has resident of its own, without files: RssAnon of /proc/self/status.
int64_t resident_memory();

/// Throws Error(kDevice) that names both sizes if the system cannot give `bytes`. Asking first matters: Linux
/// promises more than it has, and then ends some program to keep its word.
void require_memory(int64_t bytes);

}  // namespace tercet
