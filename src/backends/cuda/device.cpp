#include "backends/cuda/device.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace tercet::cuda {
namespace {

size_t at_least_one(int64_t bytes) {
  return static_cast<size_t>(std::max<int64_t>(bytes, 1));
}

/// The runtime keeps a failure until it is asked; reported once, it must not show up at the next launch.
void forget_last_error() {
  static_cast<void>(cudaGetLastError());
}

void check_memory(cudaError_t status, const char* call, int64_t bytes) {
  if (status == cudaErrorMemoryAllocation) {
    forget_last_error();
    throw Error(ErrorKind::kDevice,
                std::string("out of memory: ") + call + " of " + std::to_string(bytes) +
                    " bytes failed; use a smaller context or batch, fewer bits, or free the device");
  }
  check(status, call);
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  forget_last_error();
  throw Error(ErrorKind::kDevice, std::string("CUDA: ") + call + " failed: " + cudaGetErrorName(status) +
                                      ", " + cudaGetErrorString(status) +
                                      "; compute-sanitizer shows where, --device cpu does without");
}

DeviceMemory device_memory(int64_t bytes) {
  void* memory = nullptr;
  check_memory(cudaMalloc(&memory, at_least_one(bytes)), "cudaMalloc", bytes);
  return DeviceMemory(memory);
}

PinnedMemory pinned_memory(int64_t bytes) {
  void* memory = nullptr;
  check_memory(cudaMallocHost(&memory, at_least_one(bytes)), "cudaMallocHost", bytes);
  return PinnedMemory(memory);
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return Event(event);
}

}  // namespace tercet::cuda
