#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>

namespace tercet {

/// Whether every element of `found` is within `bound(i)` of `expected`. Written as "must be within", so that
/// NaN fails; unequal or empty lengths fail unless both are empty by intent (`allow_empty`).
template <class Bound>
::testing::AssertionResult within(std::span<const float> found, std::span<const float> expected, Bound bound,
                                  bool allow_empty = false) {
  if (found.size() != expected.size())
    return ::testing::AssertionFailure() << "sizes " << found.size() << " and " << expected.size();
  if (found.empty() && !allow_empty) return ::testing::AssertionFailure() << "nothing was compared";
  for (size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    const double allowed = bound(static_cast<int64_t>(i));
    if (!(difference <= allowed)) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << found.size() << ": found " << found[i] << ", expected "
             << expected[i] << ", off by " << difference << ", allowed " << allowed;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tercet
