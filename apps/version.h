#pragma once

#include <string>

namespace tercet {

/// The commit that was built, "unknown" outside a checkout.
std::string commit();

/// "tercet 0.1.0 (commit, compilers, instruction set picked, CUDA or not)".
std::string version_line();

}  // namespace tercet
