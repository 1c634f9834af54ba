#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace tercet::cuda {

/// Throws Error(kDevice) naming the call, unless `status` is success.
void check(cudaError_t status, const char* call);

/// Releases a CUDA object; what goes wrong then (the driver has gone, at exit) is nobody's to handle.
template <auto kRelease>
struct Release {
  template <class T>
  void operator()(T* object) const noexcept {
    static_cast<void>(kRelease(object));
  }
};
using DeviceMemory = std::unique_ptr<void, Release<cudaFree>>;
using PinnedMemory = std::unique_ptr<void, Release<cudaFreeHost>>;
using Stream = std::unique_ptr<CUstream_st, Release<cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Release<cudaEventDestroy>>;
using Graph = std::unique_ptr<CUgraph_st, Release<cudaGraphDestroy>>;
using GraphExec = std::unique_ptr<CUgraphExec_st, Release<cudaGraphExecDestroy>>;

/// Memory of the current device; Error(kDevice) names the size where there is not enough.
DeviceMemory device_memory(int64_t bytes);
PinnedMemory pinned_memory(int64_t bytes);
Stream make_stream();
Event make_event();

}  // namespace tercet::cuda
