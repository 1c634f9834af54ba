#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/backend.h"

namespace tercet {

/// A backend under test, by name: "ref", "simd", "cuda"; cuda only where a device is present.
struct BackendCase {
  std::string name;
  bool exact = true;
};

/// The cases of a parametrized suite: every backend that can run here; `int8` adds the CPU backends' way with
/// int8 activations.
std::vector<BackendCase> backend_cases(bool int8);

std::unique_ptr<Backend> open_backend(const BackendCase& which);

/// "simd_int8" and the like, for gtest.
std::string case_name(const BackendCase& which);

}  // namespace tercet
