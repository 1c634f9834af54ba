#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

inline constexpr const char* kName = "avx2";
inline constexpr const char* kInt8Product = "vpmaddubsw";
inline constexpr int kTileRows = 4;   // rows of a product's register tile
inline constexpr int kBlockRows = 1;  // rows of a matmul's register tile, of four vectors each
inline constexpr int kDotChains = 1;  // integer sums that hide the latency of a dot product

/// Sixteen floats.
struct F {
  __m256 lo, hi;
};
/// Sixteen 32-bit integers.
struct I {
  __m256i lo, hi;
};

/// All ones in the first n of eight lanes.
inline __m256i first_lanes(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline F splat(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline F load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline void store(float* p, F x) {
  _mm256_storeu_ps(p, x.lo);
  _mm256_storeu_ps(p + 8, x.hi);
}
inline F load_n(const float* p, int64_t n) {
  return {_mm256_maskload_ps(p, first_lanes(n)), _mm256_maskload_ps(p + 8, first_lanes(n - 8))};
}
inline void store_n(float* p, F x, int64_t n) {
  _mm256_maskstore_ps(p, first_lanes(n), x.lo);
  _mm256_maskstore_ps(p + 8, first_lanes(n - 8), x.hi);
}
inline F first_n(F x, int64_t n, F rest) {
  return {_mm256_blendv_ps(rest.lo, x.lo, _mm256_castsi256_ps(first_lanes(n))),
          _mm256_blendv_ps(rest.hi, x.hi, _mm256_castsi256_ps(first_lanes(n - 8)))};
}
inline F operator+(F a, F b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline F operator-(F a, F b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline F operator*(F a, F b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline F operator/(F a, F b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline F fma(F a, F b, F c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F max(F a, F b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
inline F min(F a, F b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}

inline I splat(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
inline I load(const void* p) {
  const auto* halves = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}
inline I operator+(I a, I b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline I operator-(I a, I b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
inline I operator*(I a, I b) {
  return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)};
}
inline I operator&(I a, I b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline I operator|(I a, I b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
template <int kCount>
I shift_left(I a) {
  return {_mm256_slli_epi32(a.lo, kCount), _mm256_slli_epi32(a.hi, kCount)};
}
template <int kCount>
I shift_right(I a) {
  return {_mm256_srli_epi32(a.lo, kCount), _mm256_srli_epi32(a.hi, kCount)};
}

inline F to_float(I x) {
  return {_mm256_cvtepi32_ps(x.lo), _mm256_cvtepi32_ps(x.hi)};
}
inline I round(F x) {
  return {_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi)};
}
inline F as_float(I x) {
  return {_mm256_castsi256_ps(x.lo), _mm256_castsi256_ps(x.hi)};
}
inline I as_int(F x) {
  return {_mm256_castps_si256(x.lo), _mm256_castps_si256(x.hi)};
}

inline I load_u8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes))};
}
inline I load_u16(const void* p) {
  const auto* halves = static_cast<const __m128i*>(p);
  return {_mm256_cvtepu16_epi32(_mm_loadu_si128(halves)), _mm256_cvtepu16_epi32(_mm_loadu_si128(halves + 1))};
}
inline F load_f16(const void* p) {
  const auto* halves = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}
/// The lanes, which are within a signed byte.
inline void store_i8(int8_t* p, I x) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.lo, x.hi), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

/// Lane i and lane i + 8, then i + 4, i + 2, i + 1: the order of every sum over lanes.
template <class Add>
float fold(F x, const Add& add) {
  const __m256 eight = add(x.lo, x.hi);
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
/// share. Pairs of products stay in 16 bits for a block of eight adds: 8 * 2 * 15 * 127 = 30480 < 32768.
template <int kBits>
struct Dot {
  static_assert(kBits <= 4);
  I total = splat(0);
  I words = splat(0);

  void add(I codes, const int8_t* x) {
    int32_t four;
    __builtin_memcpy(&four, x, 4);
    const __m256i bytes = _mm256_set1_epi32(four);
    words.lo = _mm256_add_epi16(words.lo, _mm256_maddubs_epi16(codes.lo, bytes));
    words.hi = _mm256_add_epi16(words.hi, _mm256_maddubs_epi16(codes.hi, bytes));
  }
  void end_block() {
    const __m256i ones = _mm256_set1_epi16(1);
    total = total + I{_mm256_madd_epi16(words.lo, ones), _mm256_madd_epi16(words.hi, ones)};
    words = splat(0);
  }
};

/// Eight-bit codes do not fit 16-bit pairs: even and odd bytes are widened first.
template <>
struct Dot<8> {
  I total = splat(0);

  void add(I codes, const int8_t* x) {
    int32_t four;
    __builtin_memcpy(&four, x, 4);
    const __m256i bytes = _mm256_set1_epi32(four);
    const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8);
    const __m256i odd = _mm256_srai_epi16(bytes, 8);
    total = total + I{products(codes.lo, even, odd), products(codes.hi, even, odd)};
  }
  void end_block() {}

 private:
  static __m256i products(__m256i codes, __m256i even, __m256i odd) {
    const __m256i low = _mm256_and_si256(codes, _mm256_set1_epi16(0xff));
    return _mm256_add_epi32(_mm256_madd_epi16(low, even),
                            _mm256_madd_epi16(_mm256_srli_epi16(codes, 8), odd));
  }
};

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
