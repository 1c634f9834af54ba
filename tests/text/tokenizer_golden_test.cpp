// Against what the `tokenizers` library makes of 100,000 random strings, of random ids, and of a large text;
// hashes of its results are in tokenizer_golden.h.

#include "text/tokenizer_golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/mapped_file.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"
#include "text/tokenizer_random.h"

namespace tercet {
namespace {

bool holds_any(const std::set<int32_t>& points, const std::string& text) {
  for (int64_t at = 0; at < static_cast<int64_t>(text.size());) {
    const Utf8Step step = utf8_step(text, at);
    if (points.contains(step.value)) return true;
    at += step.length;
  }
  return false;
}

std::set<int32_t> listed_points() {
  std::set<int32_t> points;
  for (const UnicodeDifference& range : read_unicode_differences()) {
    for (int32_t point = range.first; point <= range.last; ++point) points.insert(point);
  }
  return points;
}

void expect_random_strings(const Tokenizer& tokenizer, const GoldenHashes& golden) {
  const std::set<int32_t> listed = listed_points();
  SplitMix64 random(1);
  uint64_t state = 0;
  int64_t skipped = 0;
  std::vector<uint64_t> hashes;
  for (int64_t compared = 0; compared < kGoldenStrings;) {
    const std::string text = random_string(random);
    if (holds_any(listed, text)) {
      ++skipped;
      continue;
    }
    state = hash_numbers(state, tokenizer.encode(text));
    if (++compared % (kGoldenStrings / 10) == 0) hashes.push_back(state);
  }
  EXPECT_EQ(skipped, golden.skipped);
  EXPECT_EQ(hashes, golden.strings);
}

void expect_random_ids(const Tokenizer& tokenizer, const GoldenHashes& golden) {
  SplitMix64 random(2);
  uint64_t state = 0;
  for (int64_t i = 0; i < kGoldenDecodes; ++i) {
    const std::string text = tokenizer.decode(random_ids(random, tokenizer.vocab_size()), i % 2 == 1);
    state = hash_numbers(state, std::vector<uint8_t>(text.begin(), text.end()));
  }
  EXPECT_EQ(state, golden.decoded);
}

void expect_text(const Tokenizer& tokenizer, const GoldenHashes& golden, const std::string& file) {
  const MappedFile mapped(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.data()),
                              static_cast<size_t>(mapped.size()));
  const std::vector<int32_t> ids = tokenizer.encode(text);
  EXPECT_EQ(static_cast<int64_t>(ids.size()), golden.valid_tokens);
  EXPECT_EQ(hash_numbers(0, ids), golden.valid);
}

TEST(TokenizerGolden, Nano) {
  const Tokenizer tokenizer = Tokenizer::load(TERCET_SOURCE_DIR "/models/nano");
  expect_random_strings(tokenizer, kNanoHashes);
  expect_random_ids(tokenizer, kNanoHashes);
}

TEST(TokenizerGolden, LargeTextAndFullVocabulary) {
  const char* data = std::getenv("TERCET_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "set TERCET_TEST_DATA to the folder with the larger test data";
  const std::string folder = std::string(data) + "/data";
  expect_text(Tokenizer::load(TERCET_SOURCE_DIR "/models/nano"), kNanoHashes, folder + "/valid.txt");
  const Tokenizer qwen3 = Tokenizer::load(folder + "/qwen3-tokenizer");
  expect_random_strings(qwen3, kQwen3Hashes);
  expect_random_ids(qwen3, kQwen3Hashes);
  expect_text(qwen3, kQwen3Hashes, folder + "/valid.txt");
}

/// The list excuses strings, so it must stay exactly as long as it has to be: what newer tables have and ours
/// lack.
TEST(TokenizerGolden, ListedDifferencesAreOfOurTables) {
  const std::map<std::string, std::string> patterns = {
      {"letter", "\\p{L}"}, {"mark", "\\p{M}"}, {"number", "\\p{N}"}, {"space", "\\s"}};
  std::map<std::string, int> counts;
  for (const UnicodeDifference& range : read_unicode_differences()) {
    counts[range.kind] += range.last - range.first + 1;
    if (range.kind == "nfc") continue;
    const Pretokenizer ours(patterns.at(range.kind) + "+", "the test");
    Pretokenizer::Splitter splitter(ours);
    for (int32_t point = range.first; point <= range.last; ++point) {
      std::string text = "!";
      append_utf8(text, point);
      splitter.start(text);
      std::string_view piece;
      ASSERT_TRUE(splitter.next(piece));
      const bool in_class = piece.size() == 1;  // what is no match is not cut
      EXPECT_EQ(in_class, range.kind == "space") << "U+" << std::hex << point << " " << range.kind;
    }
  }
  const std::map<std::string, int> expected = {
      {"letter", 9272}, {"mark", 93}, {"number", 120}, {"space", 1}, {"nfc", 110}};
  EXPECT_EQ(counts, expected);
}

}  // namespace
}  // namespace tercet
