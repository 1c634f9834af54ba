#include "text/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"

namespace tercet {
namespace {

TEST(Windows, DocumentsAreSplitAtTheExactSeparator) {
  EXPECT_EQ(split_documents("a\n\x1e\n b \n\x1e\n\n\x1e\n"),
            (std::vector<std::string_view>{"a", " b ", "", ""}));
  EXPECT_EQ(split_documents("a\x1e\nb\n\x1e"), (std::vector<std::string_view>{"a\x1e\nb\n\x1e"}));
  EXPECT_EQ(split_documents(""), std::vector<std::string_view>{""});
}

TEST(Windows, EveryDocumentEndsAndWindowsAreWhole) {
  const Tokenizer tokenizer = Tokenizer::load(TERCET_SOURCE_DIR "/models/nano");
  const TokenWindows windows = cut_windows(tokenizer, "one two\n\x1e\nthree<|im_end|>", 2);
  const int32_t end = *tokenizer.token_to_id("<|endoftext|>");
  std::vector<int32_t> expected = tokenizer.encode("one two");
  expected.push_back(end);
  for (const int32_t id : tokenizer.encode("three")) expected.push_back(id);
  expected.push_back(*tokenizer.token_to_id("<|im_end|>"));
  expected.push_back(end);
  EXPECT_EQ(windows.tokens, expected);
  EXPECT_EQ(windows.count(), static_cast<int64_t>(expected.size()) / 2);
  EXPECT_EQ(windows.window(1)[0], expected[2]);
  EXPECT_THROW(cut_windows(tokenizer, "short", 100), Error);
}

TEST(Windows, SpreadCoversEvenly) {
  EXPECT_EQ(spread_windows(10, 4), (std::vector<int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(spread_windows(3, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(spread_windows(3, 9), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Windows, DrawsAreDifferentRepeatableAndExtend) {
  const auto drawn = draw_windows(100, 40, 7);
  EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 40U);
  EXPECT_LT(*std::max_element(drawn.begin(), drawn.end()), 100);
  EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 0);
  EXPECT_EQ(draw_windows(100, 40, 7), drawn);
  EXPECT_NE(draw_windows(100, 40, 8), drawn);
  const auto more = draw_windows(100, 100, 7);
  EXPECT_TRUE(std::equal(drawn.begin(), drawn.end(), more.begin()));
  EXPECT_EQ(std::set<int64_t>(more.begin(), more.end()).size(), 100U);
}

TEST(Windows, TheEvaluationTextHasItsKnownSize) {
  const char* data = std::getenv("TERCET_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "TERCET_TEST_DATA is not set";
  std::stringstream text;
  text << std::ifstream(std::string(data) + "/data/valid.txt", std::ios::binary).rdbuf();
  const TokenWindows windows =
      cut_windows(Tokenizer::load(std::string(data) + "/models/nano"), text.str(), 1024);
  EXPECT_EQ(windows.tokens.size(), 1622698U);
  EXPECT_EQ(windows.count(), 1584);
}

}  // namespace
}  // namespace tercet
