#include "quant/grid.h"

#include <algorithm>
#include <cmath>

#include "base/float_types.h"
#include "quant/kernels.h"

namespace tercet {
namespace {

constexpr int kFactors = 31;
constexpr float kFirstFactor = 1.05F;
constexpr float kLastFactor = 0.45F;
constexpr float kSmallestScale = 0x1p-24F;
constexpr float kLargestScale = 65504.0F;

/// The ends of a group's values, zero included.
struct Range {
  float lowest = 0;
  float highest = 0;
};

Range range_of(std::span<const float> values) {
  Range range;
  for (const float value : values) {
    range.lowest = std::min(range.lowest, value);
    range.highest = std::max(range.highest, value);
  }
  return range;
}

Grid grid_of(Range range, GridKind kind, float factor) {
  const int middle = 1 << (kind.bits - 1);
  const float largest = std::max(range.highest, -range.lowest);
  if (largest == 0) return {1, kind.symmetric ? middle : 0};
  if (kind.symmetric) return {stored_scale(factor * largest / (static_cast<float>(middle) - 0.5F)), middle};
  const float steps = static_cast<float>(kind.highest_code());
  const float scale = stored_scale(factor * (range.highest - range.lowest) / steps);
  const float zero = std::clamp(-factor * range.lowest / scale, 0.0F, steps);
  return {scale, static_cast<int>(round_even(zero))};
}

}  // namespace

float stored_scale(float scale) {
  return fp16_to_float(float_to_fp16(std::clamp(scale, kSmallestScale, kLargestScale)));
}

Grid range_grid(std::span<const float> values, GridKind kind, float factor) {
  return grid_of(range_of(values), kind, factor);
}

Grid searched_grid(std::span<const float> values, std::span<const float> weights, GridKind kind) {
  const Range range = range_of(values);
  Grid best;
  float least = INFINITY;
  for (int i = 0; i < kFactors; ++i) {
    const float step = static_cast<float>(i) / static_cast<float>(kFactors - 1);
    const Grid grid = grid_of(range, kind, kFirstFactor + step * (kLastFactor - kFirstFactor));
    const float lowest = static_cast<float>(-grid.zero);
    const float highest = static_cast<float>(kind.highest_code() - grid.zero);
    const float error = rounding_error(values.data(), weights.data(), static_cast<int64_t>(values.size()),
                                       grid.scale, lowest, highest);
    if (i == 0 || error < least) {
      best = grid;
      least = error;
    }
  }
  return best;
}

uint8_t nearest_code(float value, Grid grid, GridKind kind) {
  const float lowest = static_cast<float>(-grid.zero);
  const float highest = static_cast<float>(kind.highest_code() - grid.zero);
  const float distance = round_even(std::clamp(value / grid.scale, lowest, highest));
  return static_cast<uint8_t>(static_cast<int>(distance) + grid.zero);
}

}  // namespace tercet
