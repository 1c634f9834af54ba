// Code from a model is run, so it must not be able to do anything but return values.
#include "code_score.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "base/error.h"

namespace tercet {
namespace {

std::string block(const std::string& code) {
  return "Here it is:\n```python\n" + code + "\n```\nDone.";
}

class CodeScoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_python()) GTEST_SKIP() << "python3 is not there";
  }

  static bool scores(const std::string& code) {
    return same_function(block(code), block("def f(x):\n    return x * 2"));
  }
};

TEST_F(CodeScoreTest, EqualValuesOfOneNameAreRight) {
  EXPECT_TRUE(scores("def f(x):\n    return x + x"));
  EXPECT_TRUE(
      scores("def f(x):\n    total = 0\n    for i in range(2):\n        total += x\n    return total"));
  EXPECT_TRUE(scores("def f(x):\n    return sum([x for _ in 'ab'])"));
  EXPECT_TRUE(scores("def f(x):\n    return x if x == 0 else 2 + f(x - 1)"));
  EXPECT_FALSE(scores("def f(x):\n    return x * 3"));
  EXPECT_FALSE(scores("def g(x):\n    return x * 2"));
  EXPECT_FALSE(scores("def f(x):\n    return x * 2 if x < 19 else 0"));
  EXPECT_FALSE(scores("def f(x):\n    return x * 2 +"));
  EXPECT_FALSE(scores("def f(x):\n    return undefined"));
  EXPECT_FALSE(same_function("no code", block("def f(x):\n    return x")));
}

TEST_F(CodeScoreTest, AnAnswerThatCannotBeRunIsNoWrongReply) {
  const std::string good = block("def f(x):\n    return x");
  EXPECT_THROW(same_function(good, "no code"), Error);
  EXPECT_THROW(same_function(good, block("import math\ndef f(x):\n    return x")), Error);
  EXPECT_THROW(same_function(good, block("def f(x):\n    return 1 / x")), Error);
  EXPECT_THROW(same_function(good, block("def f(x):\n    while True:\n        pass")), Error);
}

TEST_F(CodeScoreTest, NothingOfTheSystemIsInReach) {
  const std::string back = "\n    return x * 2";
  EXPECT_FALSE(scores("import os\ndef f(x):" + back));
  EXPECT_FALSE(scores("def f(x):\n    __import__('os')" + back));
  EXPECT_FALSE(scores("def f(x):\n    open('/etc/passwd')" + back));
  EXPECT_FALSE(scores("def f(x):\n    eval('1')" + back));
  EXPECT_FALSE(scores("def f(x):\n    y = f.__globals__" + back));
  EXPECT_FALSE(scores("def f(x):\n    y = (i for i in 'a').gi_frame" + back));
  EXPECT_FALSE(scores("def f(x):\n    y = '{0.real}'.format(x)" + back));
  EXPECT_FALSE(scores("def f(x):\n    exit(0)" + back));
  EXPECT_FALSE(scores("class f:\n    pass"));
}

TEST_F(CodeScoreTest, EndlessAndHugeAreEnded) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(scores("def f(x):\n    while True:\n        pass"));
  EXPECT_FALSE(scores("def f(x):\n    y = [0] * 10**10\n    return x * 2"));
  EXPECT_FALSE(scores("def f(x):\n    return f(x)"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(12));
}

TEST_F(CodeScoreTest, LeavesNothingBehind) {
  const auto count = [] {
    int folders = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path())) {
      folders += static_cast<int>(entry.path().filename().string().starts_with("tercet-"));
    }
    return folders;
  };
  const int before = count();
  EXPECT_TRUE(scores("def f(x):\n    return x * 2"));
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace tercet
