#pragma once

// Every bound that a test compares with, and why it is that large. u is half an ulp of fp32, 2^-24; a sum of
// n products in any order, fused or not, is within n u sum|a b| (1 + n u) of the exact one (Higham, Accuracy
// and Stability, 3.1), and the reference's sums in double are exact beside it. Bounds add what the reference
// and the tested backend may each lose.

#include <cmath>
#include <cstdint>

namespace tercet::tolerance {

inline constexpr double kUnit = 0x1p-24;

/// Library and polynomial exponentials, divisions and square roots: each within 4 ulp; a handful in a row.
inline constexpr double kElementary = 16 * kUnit;

/// A dot product of `n` terms whose absolute values add up to `magnitude`; one rounding of the result on each
/// side.
inline double dot(int64_t n, double magnitude) {
  return (static_cast<double>(n) + 2) * kUnit * magnitude;
}

/// A normalized value of size `magnitude`: the mean of `n` squares (relative error n u / 2 after the root),
/// then four products.
inline double normalized(int64_t n, double magnitude) {
  return (static_cast<double>(n) / 2 * kUnit + kElementary) * magnitude;
}

/// A rotation by an angle position * frequency: the product is rounded once (relative u) on both sides, so
/// that the angle, and with it a pair of size `magnitude`, may turn by 2 u times the angle.
inline double rotated(double largest_angle, double magnitude) {
  return (2 * largest_angle * kUnit + kElementary) * magnitude;
}

/// Softmax attention: scores are off by at most dot(head_dim) of `score_magnitude`, so shares by e^(2 delta)
/// - 1; the weighted sum of `keys` values of size at most `value_magnitude` adds its own.
inline double attention(int64_t head_dim, int64_t keys, double score_magnitude, double value_magnitude) {
  const double share = std::expm1(2 * dot(head_dim, score_magnitude)) + kElementary;
  return (share + dot(2 * keys, 1.0)) * value_magnitude;
}

/// The gated delta rule: each row solves one step of a unit lower triangular system over at most `chunk` rows
/// whose entries are products of unit keys; every step reads key_dim products of the state and chunk products
/// of rows, of size `magnitude`, and the system's condition is below `chunk` for keys that are not all alike.
inline double delta_rule(int64_t key_dim, int64_t chunk, double magnitude) {
  return dot(key_dim + chunk, 1.0) * static_cast<double>(chunk) * magnitude;
}

/// int8 products: integer sums are exact; `groups` scaled sums are added. Where activations were computed and
/// may differ by an ulp, a code at a tie may flip by one: `flip` is one code's worth for all of the row, zero
/// where the inputs are equal to the bit.
inline double int8_product(int64_t groups, double magnitude, double flip) {
  return dot(2 * groups, magnitude) + flip;
}

/// What the fp32 reference implementation itself is worth, by the acceptance of the reference models: logits
/// on any position, relative norm of hidden states.
inline constexpr double kGoldenLogits = 2e-4;
inline constexpr double kGoldenHidden = 1e-4;

}  // namespace tercet::tolerance
