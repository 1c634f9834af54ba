#include "backends.h"

#include <charconv>

#include "backends/cuda/cuda.h"
#include "backends/ref/ref.h"
#include "backends/simd/simd.h"
#include "base/error.h"

namespace tercet {
namespace {

/// --device: a kind, and the number of a CUDA device.
struct Device {
  enum class Kind { kAuto, kCpu, kCuda } kind = Kind::kAuto;
  int number = 0;
};

Device parse_device(const std::string& text) {
  if (text == "auto") return {Device::Kind::kAuto};
  if (text == "cpu") return {Device::Kind::kCpu};
  if (text == "cuda") return {Device::Kind::kCuda};
  const std::string prefix = "cuda:";
  Device device = {Device::Kind::kCuda};
  const char* end = text.data() + text.size();
  if (text.starts_with(prefix) && text.size() > prefix.size()) {
    const auto [stop, status] = std::from_chars(text.data() + prefix.size(), end, device.number);
    if (status == std::errc() && stop == end && device.number >= 0) return device;
  }
  throw Error(ErrorKind::kUsage, "--device names no device",
              {.expected = "cpu, cuda, cuda:N or auto", .found = text});
}

/// The backend's name with contradictions refused and "auto" decided.
std::string choose(const CommonOptions& options, const Device& device) {
  const bool wants_cuda = options.backend == "cuda";
  const bool contradiction = wants_cuda ? device.kind == Device::Kind::kCpu
                                        : !options.backend.empty() && device.kind == Device::Kind::kCuda;
  if (contradiction) {
    throw Error(ErrorKind::kUsage, "--backend " + options.backend + " does not run on --device " +
                                       options.device + ": leave one of them out");
  }
  if (!options.backend.empty()) return options.backend;
  if (device.kind == Device::Kind::kCpu) return "simd";
  if (device.kind == Device::Kind::kCuda) return "cuda";
  return cuda_device_present() ? "cuda" : "simd";
}

}  // namespace

std::unique_ptr<Backend> open_backend(const CommonOptions& options) {
  const Device device = parse_device(options.device);
  const std::string name = choose(options, device);
  const BackendOptions settings = {
      .threads = options.threads, .exact = options.exact, .device = device.number};
  if (name == "cuda") return open_cuda_backend(settings);
  if (name == "ref") return open_ref_backend(settings);
  return open_simd_backend(settings);
}

bool runs_on_cpu(const CommonOptions& options) {
  return choose(options, parse_device(options.device)) != "cuda";
}

std::string picked_isa() {
  return open_simd_backend({.threads = 1})->description();
}

}  // namespace tercet
