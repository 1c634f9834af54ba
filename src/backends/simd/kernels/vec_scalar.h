#pragma once

#include <cstdint>

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

inline constexpr const char* kName = "scalar";
inline constexpr const char* kInt8Product = "scalar";
inline constexpr int kTileRows = 4;   // rows of a product's register tile
inline constexpr int kBlockRows = 1;  // rows of a matmul's register tile, of four vectors each
inline constexpr int kDotChains = 1;  // integer sums that hide the latency of a dot product

/// Sixteen floats.
struct F {
  float v[16];
};
/// Sixteen 32-bit integers; unsigned, so that arithmetic wraps as the vector units' does.
struct I {
  uint32_t v[16];
};

template <class To, class From, class Op>
To each(const From& a, const Op& op) {
  To result;
  for (int i = 0; i < 16; ++i) result.v[i] = op(a.v[i], i);
  return result;
}
template <class V, class Op>
V both(const V& a, const V& b, const Op& op) {
  V result;
  for (int i = 0; i < 16; ++i) result.v[i] = op(a.v[i], b.v[i]);
  return result;
}
template <class V, class Op>
V build(const Op& op) {
  V result;
  for (int i = 0; i < 16; ++i) result.v[i] = op(i);
  return result;
}

inline F splat(float x) {
  return build<F>([&](int) { return x; });
}
inline F load_n(const float* p, int64_t n) {
  return build<F>([&](int i) { return i < n ? p[i] : 0.0F; });
}
inline F load(const float* p) {
  return load_n(p, 16);
}
inline void store_n(float* p, const F& x, int64_t n) {
  for (int i = 0; i < n; ++i) p[i] = x.v[i];
}
inline void store(float* p, const F& x) {
  store_n(p, x, 16);
}
inline F first_n(const F& x, int64_t n, const F& rest) {
  return build<F>([&](int i) { return i < n ? x.v[i] : rest.v[i]; });
}
inline F operator+(const F& a, const F& b) {
  return both(a, b, [](float x, float y) { return x + y; });
}
inline F operator-(const F& a, const F& b) {
  return both(a, b, [](float x, float y) { return x - y; });
}
inline F operator*(const F& a, const F& b) {
  return both(a, b, [](float x, float y) { return x * y; });
}
inline F operator/(const F& a, const F& b) {
  return both(a, b, [](float x, float y) { return x / y; });
}
inline F fma(const F& a, const F& b, const F& c) {
  return build<F>([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
inline F max(const F& a, const F& b) {  // as the vector units: the second operand where either is NaN
  return both(a, b, [](float x, float y) { return x > y ? x : y; });
}
inline F min(const F& a, const F& b) {
  return both(a, b, [](float x, float y) { return x < y ? x : y; });
}

inline I splat(int32_t x) {
  return build<I>([&](int) { return static_cast<uint32_t>(x); });
}
inline I load(const void* p) {
  I result;
  __builtin_memcpy(&result, p, sizeof(result));
  return result;
}
inline I operator+(const I& a, const I& b) {
  return both(a, b, [](uint32_t x, uint32_t y) { return x + y; });
}
inline I operator-(const I& a, const I& b) {
  return both(a, b, [](uint32_t x, uint32_t y) { return x - y; });
}
inline I operator*(const I& a, const I& b) {
  return both(a, b, [](uint32_t x, uint32_t y) { return x * y; });
}
inline I operator&(const I& a, const I& b) {
  return both(a, b, [](uint32_t x, uint32_t y) { return x & y; });
}
inline I operator|(const I& a, const I& b) {
  return both(a, b, [](uint32_t x, uint32_t y) { return x | y; });
}
template <int kCount>
I shift_left(const I& a) {
  return each<I>(a, [](uint32_t x, int) { return x << kCount; });
}
template <int kCount>
I shift_right(const I& a) {
  return each<I>(a, [](uint32_t x, int) { return x >> kCount; });
}

inline F to_float(const I& a) {
  return each<F>(a, [](uint32_t x, int) { return static_cast<float>(static_cast<int32_t>(x)); });
}
/// Ties to even, for magnitudes below 2^22: adding 1.5 * 2^23 leaves the integer in the low bits.
inline I round(const F& a) {
  return each<I>(a, [](float x, int) {
    const float shifted = x + 12582912.0F;
    uint32_t bits;
    __builtin_memcpy(&bits, &shifted, 4);
    return bits - 0x4b400000U;
  });
}
inline F as_float(const I& a) {
  F result;
  __builtin_memcpy(&result, &a, sizeof(result));
  return result;
}
inline I as_int(const F& a) {
  I result;
  __builtin_memcpy(&result, &a, sizeof(result));
  return result;
}

inline I load_u8(const uint8_t* p) {
  return build<I>([&](int i) { return static_cast<uint32_t>(p[i]); });
}
inline I load_u16(const void* p) {
  uint16_t words[16];
  __builtin_memcpy(words, p, sizeof(words));
  return build<I>([&](int i) { return static_cast<uint32_t>(words[i]); });
}
/// The exponent moves from bias 15 to 127 by an exact multiplication, which also normalizes subnormals.
inline F load_f16(const void* p) {
  const I half = load_u16(p);
  const F magnitude = as_float(shift_left<13>(half & splat(0x7fff))) * splat(0x1p112F);
  const I large = each<I>(half, [](uint32_t x, int) { return (x & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0U; });
  return as_float(as_int(magnitude) | large | shift_left<16>(half & splat(0x8000)));
}
/// The lanes, which are within a signed byte.
inline void store_i8(int8_t* p, const I& x) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(x.v[i]);
}

/// Lane i and lane i + 8, then i + 4, i + 2, i + 1: the order of every sum over lanes.
template <class Add>
float fold(F x, const Add& add) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) x.v[i] = add(x.v[i], x.v[i + half]);
  }
  return x.v[0];
}
inline float sum(const F& x) {
  return fold(x, [](float a, float b) { return a + b; });
}
inline float largest(const F& x) {
  return fold(x, [](float a, float b) { return a > b ? a : b; });
}

/// Sums, in each lane, of products of four unsigned codes below 2^kBits with four signed bytes that all lanes
/// share.
template <int kBits>
struct Dot {
  I total = splat(0);

  void add(const I& codes, const int8_t* x) {
    for (int i = 0; i < 16; ++i) {
      int32_t products = 0;
      for (int j = 0; j < 4; ++j) products += static_cast<int32_t>(codes.v[i] >> (8 * j) & 0xffU) * x[j];
      total.v[i] += static_cast<uint32_t>(products);
    }
  }
  void end_block() {}
};

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
