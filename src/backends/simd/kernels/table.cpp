#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/vec.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

const Kernels& kernels() {
  static constexpr Kernels kTable = {kName,      kTileRows, kInt8Product, product,      quantize_row,
                                     rms_norm,   silu_mul,  sigmoid_gate, weighted_sum, attention,
                                     delta_rule, convolve,  accumulate};
  return kTable;
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
