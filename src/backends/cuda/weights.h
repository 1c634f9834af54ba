#pragma once

#include <functional>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/kernels/views.h"
#include "ops/backend.h"

namespace tercet::cuda {

/// A stack of matrices on the device, one allocation each: BF16 and F32 as they are, other floats as F32, and
/// quantized ones as packed codes of their own width, F32 scales, zeros and group index. The matrices of a
/// stack may differ in all of that.
struct CudaWeight final : PreparedWeight {
  std::vector<DeviceMemory> matrices;
  DeviceMemory views;  // MatrixView [count]

  const MatrixView* stack() const { return static_cast<const MatrixView*>(views.get()); }
};

/// Packs and uploads on `stream`; returns when the device has everything.
Weight prepare_weight(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix,
                      cudaStream_t stream);

}  // namespace tercet::cuda
