// The checker is what every other test leans on: it must refuse what a careless one lets through.
#include "support/checker.h"

#include <limits>
#include <vector>

namespace tercet {
namespace {

const std::vector<float> kExpected = {1.0F, -2.0F, 3.0F, -4.0F, 5.0F};

bool passes(const std::vector<float>& found, double bound = 1e-3) {
  return static_cast<bool>(within(found, kExpected, [&](int64_t) { return bound; }));
}

TEST(Checker, AcceptsWhatIsWithin) {
  EXPECT_TRUE(passes(kExpected));
  EXPECT_TRUE(passes({1.0005F, -2.0F, 3.0F, -4.0F, 5.0F}));
}

TEST(Checker, RefusesNaN) {
  EXPECT_FALSE(passes({1.0F, std::numeric_limits<float>::quiet_NaN(), 3.0F, -4.0F, 5.0F}));
  EXPECT_FALSE(passes(kExpected, std::numeric_limits<double>::quiet_NaN()));
}

TEST(Checker, RefusesASignFlip) {
  EXPECT_FALSE(passes({1.0F, 2.0F, 3.0F, -4.0F, 5.0F}));
}

TEST(Checker, RefusesOneWrongElement) {
  EXPECT_FALSE(passes({1.0F, -2.0F, 3.0F, -4.0F, 5.01F}));
}

TEST(Checker, RefusesAllZeros) {
  EXPECT_FALSE(passes({0, 0, 0, 0, 0}));
}

TEST(Checker, RefusesInfinityAndWrongLengths) {
  EXPECT_FALSE(passes({std::numeric_limits<float>::infinity(), -2.0F, 3.0F, -4.0F, 5.0F}));
  EXPECT_FALSE(passes({1.0F, -2.0F}));
  EXPECT_FALSE(static_cast<bool>(within({}, {}, [](int64_t) { return 1.0; })));
}

}  // namespace
}  // namespace tercet
