#pragma once

#include "backends/simd/kernels.h"

// The kernels of this instruction set, gathered in table.cpp; see backends/simd/kernels.h for what they
// compute.

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

void product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out, int64_t stride);
void int8_product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                  int64_t stride);
void quantize_row(const float* x, int64_t cols, int64_t group, int8_t* codes, float* scales, int32_t* sums);
void rms_norm(const float* x, const float* w, const float* z, int64_t cols, float eps, bool offset,
              float* out);
void silu_mul(const float* gate, const float* up, int64_t count, float* out);
void sigmoid_gate(float* x, const float* gate, int64_t count, bool whole);
void weighted_sum(const float* const* rows, const float* weights, int64_t terms, int64_t count, float* out);
void attention(const AttentionJob& job);
void delta_rule(const DeltaRuleJob& job);
void convolve(const ConvJob& job);
void accumulate(const float* x, const float* y, int64_t rows, int64_t cols, float scale, int64_t begin,
                int64_t end, float* out);

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
