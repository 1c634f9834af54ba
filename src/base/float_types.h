#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tercet {

/// The bits of a BF16 value as fp32: the same sign, exponent and upper seven mantissa bits.
inline float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Round to nearest, ties to even; NaN stays NaN.
inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// IEEE binary16 to fp32, exact (subnormals, infinities and NaN included).
inline float fp16_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fU;
  const uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

/// fp32 to IEEE binary16, round to nearest, ties to even; too large becomes infinity.
inline uint16_t float_to_fp16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // 65520 rounds to infinity
  if (magnitude < 0x38800000U) {  // below 2^-14: subnormal, in units of 2^-24
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(units));
  }
  const uint32_t rebiased = magnitude - (112U << 23);
  return static_cast<uint16_t>(sign | ((rebiased + 0xfffU + ((rebiased >> 13) & 1U)) >> 13));
}

/// OCP E4M3 (fn) to fp32: bias 7, largest 448, 0x7f and 0xff are NaN.
inline float e4m3_to_float(uint8_t code) {
  const uint32_t exponent = (code >> 3) & 0xfU;
  const uint32_t mantissa = code & 7U;
  float magnitude = 0;
  if ((code & 0x7fU) == 0x7fU) {
    magnitude = std::bit_cast<float>(0x7fc00000U);
  } else if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-9F;
  } else {
    magnitude = std::bit_cast<float>(((exponent + 120U) << 23) | (mantissa << 20));
  }
  return (code & 0x80U) != 0 ? -magnitude : magnitude;
}

}  // namespace tercet
