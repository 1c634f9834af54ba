#pragma once

#include <memory>

#include "ops/backend.h"

namespace tercet {

/// The scalar reference: plain loops, fp32 values, sums in double. Slow, obvious, and the law for the other
/// backends. Unless `options.exact`, products with quantized weights take int8 activations, as the fast way
/// of a CPU does.
std::unique_ptr<Backend> open_ref_backend(const BackendOptions& options);

}  // namespace tercet
