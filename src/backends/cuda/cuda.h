#pragma once

#include <functional>
#include <memory>

#include "ops/backend.h"

namespace tercet {

/// Whether the program was built with CUDA and a device answers.
bool cuda_device_present();

/// The plain CUDA backend on device `options.device`: one kernel a primitive, fp32 throughout. `threads` and
/// `exact` change nothing here. Throws Error(kDevice) that says what to do where CUDA or the device is
/// missing.
std::unique_ptr<Backend> open_cuda_backend(const BackendOptions& options);

/// Records the ops that `ops` calls on a backend of open_cuda_backend as one graph, and runs that graph
/// `times` times. Throws Error(kDevice) if an op waits for the device, which a recorded step may not.
void run_as_cuda_graph(Backend& backend, const std::function<void()>& ops, int times);

}  // namespace tercet
