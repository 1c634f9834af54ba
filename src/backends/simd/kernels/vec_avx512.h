#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

inline constexpr const char* kName = "avx512";
inline constexpr const char* kInt8Product = "vpdpbusd";
inline constexpr int kTileRows = 8;   // rows of a product's register tile
inline constexpr int kBlockRows = 4;  // rows of a matmul's register tile, of four vectors each
inline constexpr int kDotChains = 4;  // integer sums that hide the latency of a dot product

/// Sixteen floats.
struct F {
  __m512 v;
};
/// Sixteen 32-bit integers.
struct I {
  __m512i v;
};

inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>((1U << n) - 1U);
}

inline F splat(float x) {
  return {_mm512_set1_ps(x)};
}
inline F load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline void store(float* p, F x) {
  _mm512_storeu_ps(p, x.v);
}
inline F load_n(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
inline void store_n(float* p, F x, int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), x.v);
}
inline F first_n(F x, int64_t n, F rest) {
  return {_mm512_mask_blend_ps(first_lanes(n), rest.v, x.v)};
}
inline F operator+(F a, F b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline F operator-(F a, F b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline F operator*(F a, F b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline F operator/(F a, F b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline F fma(F a, F b, F c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline F max(F a, F b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline F min(F a, F b) {
  return {_mm512_min_ps(a.v, b.v)};
}

inline I splat(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
inline I load(const void* p) {
  return {_mm512_loadu_si512(p)};
}
inline I operator+(I a, I b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline I operator-(I a, I b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
inline I operator*(I a, I b) {
  return {_mm512_mullo_epi32(a.v, b.v)};
}
inline I operator&(I a, I b) {
  return {_mm512_and_si512(a.v, b.v)};
}
inline I operator|(I a, I b) {
  return {_mm512_or_si512(a.v, b.v)};
}
template <int kCount>
I shift_left(I a) {
  return {_mm512_slli_epi32(a.v, kCount)};
}
template <int kCount>
I shift_right(I a) {
  return {_mm512_srli_epi32(a.v, kCount)};
}

inline F to_float(I x) {
  return {_mm512_cvtepi32_ps(x.v)};
}
inline I round(F x) {
  return {_mm512_cvtps_epi32(x.v)};
}
inline F as_float(I x) {
  return {_mm512_castsi512_ps(x.v)};
}
inline I as_int(F x) {
  return {_mm512_castps_si512(x.v)};
}

inline I load_u8(const uint8_t* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline I load_u16(const void* p) {
  return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline F load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
/// The lanes' low bytes.
inline void store_i8(int8_t* p, I x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}

/// Lane i and lane i + 8, then i + 4, i + 2, i + 1: the order of every sum over lanes.
template <class Add>
float fold(F x, const Add& add) {
  const __m256 eight = add(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m256 four = add(eight, _mm256_permute2f128_ps(eight, eight, 1));
  const __m256 two = add(four, _mm256_permute_ps(four, 0x4e));
  return _mm256_cvtss_f32(add(two, _mm256_permute_ps(two, 0xb1)));
}
inline float sum(F x) {
  return fold(x, [](__m256 a, __m256 b) { return _mm256_add_ps(a, b); });
}
inline float largest(F x) {
  return fold(x, [](__m256 a, __m256 b) { return _mm256_max_ps(a, b); });
}

/// Sums, in each lane, of products of four unsigned codes below 2^kBits with four signed bytes that all lanes
/// share.
template <int kBits>
struct Dot {
  I total = splat(0);

  void add(I codes, const int8_t* x) {
    int32_t four;
    __builtin_memcpy(&four, x, 4);
    total.v = _mm512_dpbusd_epi32(total.v, codes.v, _mm512_set1_epi32(four));
  }
  void end_block() {}
};

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
