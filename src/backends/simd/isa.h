#pragma once

#include "backends/simd/kernels.h"

namespace tercet::simd {

/// The kernels that TERCET_ISA names, or the best ones that this processor runs; see open_simd_backend for
/// errors.
const Kernels& choose_kernels();

}  // namespace tercet::simd
