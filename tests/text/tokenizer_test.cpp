#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "text/tokenizer_golden.h"
#include "text/tokenizer_random.h"

namespace tercet {
namespace {

using Ids = std::vector<int32_t>;

const Tokenizer& nano() {
  static const Tokenizer tokenizer = Tokenizer::load(TERCET_SOURCE_DIR "/models/nano");
  return tokenizer;
}

TEST(Tokenizer, EncodesTheGoldenCases) {
  for (const GoldenCase& golden : kGoldenCases)
    EXPECT_EQ(nano().encode(golden.text), golden.ids) << golden.text;
}

TEST(Tokenizer, KnowsItsTokens) {
  EXPECT_EQ(nano().vocab_size(), 8192);
  const auto end = nano().token_to_id("<|im_end|>");
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(nano().is_special(*end));
  EXPECT_EQ(nano().token_bytes(*end), "<|im_end|>");
  const auto think = nano().token_to_id("<think>");
  ASSERT_TRUE(think.has_value());
  EXPECT_FALSE(nano().is_special(*think));
  const auto the = nano().token_to_id("\u0120the");
  ASSERT_TRUE(the.has_value());
  EXPECT_EQ(nano().token_bytes(*the), " the");
  EXPECT_FALSE(nano().token_to_id("<|no_such_token|>").has_value());
}

TEST(Tokenizer, IdsWithoutATokenStandForNothing) {
  const Ids outside = {-1, INT32_MIN, 8192, INT32_MAX};
  EXPECT_EQ(nano().decode(outside), "");
  for (const int32_t id : outside) {
    EXPECT_FALSE(nano().is_special(id));
    EXPECT_EQ(nano().token_bytes(id), "");
  }
}

TEST(Tokenizer, AddedTokensArePlainTextOnRequest) {
  const Ids with = nano().encode("a<|im_end|>");
  const Ids without = nano().encode("a<|im_end|>", false);
  EXPECT_EQ(with.back(), nano().token_to_id("<|im_end|>"));
  EXPECT_EQ(std::count(without.begin(), without.end(), with.back()), 0);
  EXPECT_EQ(nano().decode(without), "a<|im_end|>");
}

TEST(Tokenizer, SkipsSpecialTokensAlone) {
  const Ids ids = nano().encode("<|im_start|>a<think>b<|im_end|>");
  EXPECT_EQ(nano().decode(ids), "<|im_start|>a<think>b<|im_end|>");
  EXPECT_EQ(nano().decode(ids, true), "a<think>b");
}

/// NFC of each piece between added tokens, which nano's random strings spell as in kRandomSnippets.
std::string normalized_pieces(const std::string& text) {
  std::string out, storage;
  size_t piece = 0;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    for (const std::string_view token : {"<|im_end|>", "<think>", "</think>"}) {
      if (text.compare(at, token.size(), token) == 0) length = token.size();
    }
    if (length > 0) {
      out.append(nfc(std::string_view(text).substr(piece, at - piece), storage)).append(text, at, length);
      piece = at + length;
    }
    at += std::max<size_t>(length, 1);
  }
  return out.append(nfc(std::string_view(text).substr(piece), storage));
}

TEST(Tokenizer, DecodingGivesTheNormalizedTextBack) {
  SplitMix64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = random_string(random);
    ASSERT_EQ(nano().decode(nano().encode(text)), normalized_pieces(lossy_utf8(text))) << "string " << i;
  }
}

TEST(Tokenizer, LongRunsTakeNoQuadraticTime) {
  constexpr int64_t kLength = 2'000'000;
  for (const std::string_view unit :
       {"a", " ", "\n", "7", "!", "\u4e2d", "e\u0301", "\u0301\u0316", "<", "\xff"}) {
    std::string text;
    while (static_cast<int64_t>(text.size()) < kLength) text += unit;
    const Ids ids = nano().encode(text);
    std::string storage;
    EXPECT_EQ(nano().decode(ids), nfc(lossy_utf8(text), storage)) << unit;
  }
}

TEST(Tokenizer, ThreadsShareOne) {
  std::vector<std::string> texts;
  SplitMix64 random(4);
  for (int i = 0; i < 2000; ++i) texts.push_back(random_string(random));
  std::vector<Ids> expected;
  for (const std::string& text : texts) expected.push_back(nano().encode(text));
  std::vector<int> equal(4);
  std::vector<std::thread> threads;
  for (int& count : equal) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < texts.size(); ++i) count += nano().encode(texts[i]) == expected[i] ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 2000));
}

TEST(Tokenizer, MissingFileIsNamed) {
  try {
    Tokenizer::load("/no/such/folder");
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(error.context().file, "/no/such/folder/tokenizer.json");
  }
}

}  // namespace
}  // namespace tercet
