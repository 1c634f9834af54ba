#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tercet {

/// Calibration sums of the inputs of one or more matrices, as means over tokens: x are the BF16 model's, x'
/// the quantized model's.
struct InputStatistics {
  int64_t width = 0;           // K
  std::vector<float> squares;  // H = E[x' x'^T], [K, K]
  std::vector<float> cross;    // C = E[x x'^T], [K, K]; empty without corrected target
};

/// What the solver needs of the statistics. Row-major [K, K]; the solve order has the columns in falling
/// order of diag H.
struct Curvature {
  int64_t width = 0;
  double damp = 0;              // what the factorization took, a share of the mean diagonal
  std::vector<int32_t> order;   // [K] column of each place in the solve order
  std::vector<float> squares;   // H in solve order
  std::vector<float> feedback;  // in solve order, upper: the error of place i moves the target of place j > i
                                // by feedback[i][j]
  std::vector<float> correction;  // target = W correction; rows by column, columns in solve order; empty
                                  // without corrected target
};

bool is_finite(const InputStatistics& statistics);

/// Factors H + lambda I, lambda = damp times the mean of diag H; damp grows by 0.01 until it succeeds,
/// below 1. The statistics, which must be finite, are used up. `failure` says why there is no factorization;
/// `feedback` and `correction` are then empty.
Curvature factor(InputStatistics statistics, double damp, std::string* failure);

}  // namespace tercet
