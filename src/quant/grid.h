#pragma once

#include <cstdint>
#include <span>

namespace tercet {

/// The values that a group of weights may take: scale * (code - zero), code in 0 ... 2^bits - 1. The scale is
/// an fp16 value.
struct Grid {
  float scale = 1;
  int zero = 0;
};

/// How grids are made.
struct GridKind {
  int bits = 4;
  bool symmetric = true;  // zero is 2^(bits - 1)

  int highest_code() const { return (1 << bits) - 1; }
};

/// The nearest positive fp16 value that is neither zero nor infinite.
float stored_scale(float scale);

/// The grid whose range is `factor` times the values': symmetric, the largest magnitude is (2^(bits-1) - 0.5)
/// scales; else 0 and all values lie between the ends. A group of zeros has scale 1.
Grid range_grid(std::span<const float> values, GridKind kind, float factor);

/// Of 31 factors from 1.05 down to 0.45 the one with the least squared error weighted by `weights`; the first
/// of equals.
Grid searched_grid(std::span<const float> values, std::span<const float> weights, GridKind kind);

/// The code whose value is nearest, ties to the even distance from zero.
uint8_t nearest_code(float value, Grid grid, GridKind kind);

/// scale * (code - zero).
inline float value_of(uint8_t code, Grid grid) {
  return grid.scale * static_cast<float>(static_cast<int>(code) - grid.zero);
}

}  // namespace tercet
