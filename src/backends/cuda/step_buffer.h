#pragma once

#include <cstdint>

#include "backends/cuda/device.h"
#include "backends/cuda/kernels/views.h"
#include "ops/step.h"

namespace tercet::cuda {

/// The description of the current step on the device: one planned piece of memory whose parts stay where they
/// are from step to step, filled by one asynchronous copy.
class StepBuffer {
 public:
  explicit StepBuffer(const StepLimits& limits);

  /// Waits for the copy of the step before, which runs ahead of that step's ops, and starts this one's.
  void upload(const Step& step, cudaStream_t stream);

  const StepView& view() const { return view_; }

 private:
  int32_t* host(int64_t offset) { return static_cast<int32_t*>(staging_.get()) + offset; }

  // Offsets of the parts, in 32-bit words.
  int64_t row_span_, row_position_, logit_rows_, pages_, spans_, words_;
  PinnedMemory staging_;
  DeviceMemory memory_;
  Event copied_;
  StepView view_;
};

}  // namespace tercet::cuda
