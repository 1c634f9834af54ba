#pragma once

// A vector of sixteen lanes on every instruction set, so that one source has one order of operations: two
// halves on AVX2, an array in the scalar build.

#if defined(__AVX512F__)
#include "backends/simd/kernels/vec_avx512.h"
#elif defined(__AVX2__)
#include "backends/simd/kernels/vec_avx2.h"
#else
#include "backends/simd/kernels/vec_scalar.h"
#endif

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

/// e^x within two units in the last place: 2^n times a polynomial on |r| <= ln(2) / 2. Zero at -infinity.
inline F exp(F x) {
  x = min(splat(89.0F), max(splat(-104.0F), x));  // the operand order lets NaN through
  const F scaled = x * splat(1.44269504F);
  const F shifted = scaled + splat(12582912.0F);  // 1.5 * 2^23: the sum's low bits are the rounded integer
  const F n = shifted - splat(12582912.0F);
  const F r = fma(n, splat(-1.42860682e-6F), fma(n, splat(-0.693145751953125F), x));
  constexpr float kTerms[] = {1.0F / 720.0F, 1.0F / 120.0F, 1.0F / 24.0F, 1.0F / 6.0F, 0.5F, 1.0F, 1.0F};
  F p = splat(1.0F / 5040.0F);
  for (const float term : kTerms) p = fma(p, r, splat(term));
  // 2^n in two factors: their product alone may leave the range of normal numbers, and then rounds once.
  const I whole = as_int(shifted) - splat(0x4b400000);
  const I half = shift_right<1>(whole + splat(256)) - splat(128);
  const F first = as_float(shift_left<23>(half + splat(127)));
  const F second = as_float(shift_left<23>(whole - half + splat(127)));
  return p * first * second;
}

inline F sigmoid(F x) {
  return splat(1.0F) / (splat(1.0F) + exp(splat(0.0F) - x));
}
inline F silu(F x) {
  return x / (splat(1.0F) + exp(splat(0.0F) - x));
}

/// Calls step(offset, lanes) over `count` elements: sixteen lanes, at the end the rest.
template <class Step>
void for_lanes(int64_t count, const Step& step) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) step(i, int64_t{16});
  if (i < count) step(i, count - i);
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
