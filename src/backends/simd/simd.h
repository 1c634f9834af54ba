#pragma once

#include <memory>

#include "ops/backend.h"

namespace tercet {

/// The CPU backend: one source of kernels compiled for several instruction sets, the best one of this
/// processor picked here. The environment variable TERCET_ISA (scalar, avx2, avx512) forces one;
/// description() names what runs. All instruction sets, thread counts and batches give the same bits. Throws
/// Error: kUsage for an unknown name, kDevice for an instruction set that the processor or the build lacks.
std::unique_ptr<Backend> open_simd_backend(const BackendOptions& options);

}  // namespace tercet
