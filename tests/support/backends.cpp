#include "support/backends.h"

#include "backends/cuda/cuda.h"
#include "backends/ref/ref.h"
#include "backends/simd/simd.h"

namespace tercet {

std::vector<BackendCase> backend_cases(bool int8) {
  std::vector<BackendCase> cases = {{"ref", true}, {"simd", true}};
  if (int8) {
    cases.push_back({"ref", false});
    cases.push_back({"simd", false});
  }
  if (cuda_device_present()) cases.push_back({"cuda", true});
  return cases;
}

std::unique_ptr<Backend> open_backend(const BackendCase& which) {
  BackendOptions options;
  options.exact = which.exact;
  options.threads = 2;
  if (which.name == "ref") return open_ref_backend(options);
  if (which.name == "simd") return open_simd_backend(options);
  return open_cuda_backend(options);
}

std::string case_name(const BackendCase& which) {
  return which.name + (which.exact ? "" : "_int8");
}

}  // namespace tercet
