#include "backends/cuda/cuda.h"
#include "base/error.h"

namespace tercet {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::kDevice,
              "built without CUDA: install the CUDA toolkit (12 or later; Debian: nvidia-cuda-toolkit) and "
              "build with "
              "`cmake --preset cuda && cmake --build --preset cuda`, or choose --device cpu");
}

}  // namespace

bool cuda_device_present() {
  return false;
}

std::unique_ptr<Backend> open_cuda_backend(const BackendOptions&) {
  refuse();
}

void run_as_cuda_graph(Backend&, const std::function<void()>&, int) {
  refuse();
}

}  // namespace tercet
