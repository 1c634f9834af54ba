#include "backends/cuda/cuda.h"

#include <string>

#include "backends/cuda/cuda_backend.h"
#include "base/error.h"

namespace tercet {
namespace {

constexpr const char* kAdvice = "; check the driver with nvidia-smi, or choose --device cpu";

struct Devices {
  int count = 0;
  cudaError_t status = cudaSuccess;
};

Devices find_devices() {
  Devices devices;
  devices.status = cudaGetDeviceCount(&devices.count);
  static_cast<void>(cudaGetLastError());  // a failure here must not show up at the next check
  return devices;
}

cuda::Graph record(cudaStream_t stream, const std::function<void()>& ops) {
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    ops();
  } catch (...) {
    static_cast<void>(
        cudaStreamEndCapture(stream, &graph));  // the stream must leave its recording, whatever failed
    const cuda::Graph unfinished(graph);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return cuda::Graph(graph);
}

}  // namespace

bool cuda_device_present() {
  const Devices devices = find_devices();
  return devices.status == cudaSuccess && devices.count > 0;
}

std::unique_ptr<Backend> open_cuda_backend(const BackendOptions& options) {
  const Devices devices = find_devices();
  if (devices.status != cudaSuccess) {
    throw Error(ErrorKind::kDevice, std::string("no CUDA device: the driver says: ") +
                                        cudaGetErrorString(devices.status) + kAdvice);
  }
  if (options.device < 0 || options.device >= devices.count) {
    throw Error(ErrorKind::kDevice, "no CUDA device " + std::to_string(options.device) + ": there are " +
                                        std::to_string(devices.count) + ", numbered from 0" + kAdvice);
  }
  return std::make_unique<cuda::CudaBackend>(options.device);
}

void run_as_cuda_graph(Backend& backend, const std::function<void()>& ops, int times) {
  const cudaStream_t stream = static_cast<cuda::CudaBackend&>(backend).stream();
  const cuda::Graph graph = record(stream, ops);
  cudaGraphExec_t instance = nullptr;
  cuda::check(cudaGraphInstantiateWithFlags(&instance, graph.get(), 0), "cudaGraphInstantiate");
  const cuda::GraphExec exec(instance);
  for (int i = 0; i < times; ++i) cuda::check(cudaGraphLaunch(instance, stream), "cudaGraphLaunch");
  cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace tercet
