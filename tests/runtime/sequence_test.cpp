// A state is what its tokens made, to the bit: however they were cut into steps, whoever else was there,
// forked or not.
#include "runtime/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/tiny_model.h"

namespace tercet {
namespace {

constexpr StepSize kSize = {.rows = 400, .sequences = 7, .context = 400, .logit_rows = 400};

class SequenceTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  SequenceTest()
      : tiny_(GetParam(), kSize), pool_(*tiny_.backend, state_shape(tiny_.model->config(), false), 64, 12) {}

  std::vector<float> run(const Step& step) {
    const TensorView logits = tiny_.model->forward(step, pool_.state());
    std::vector<float> values(static_cast<size_t>(logits.count()));
    tiny_.backend->download(values.data(), logits.data, logits.bytes());
    return values;
  }

  /// Logits at every position, from steps of `chunk` rows.
  std::vector<float> run_chunks(SequenceState& sequence, std::span<const int32_t> tokens, int64_t chunk) {
    std::vector<float> all;
    while (!tokens.empty()) {
      const auto part = tokens.first(std::min(tokens.size(), static_cast<size_t>(chunk)));
      Step step;
      sequence.append_to(step, part, LogitRows::kAll);
      const std::vector<float> logits = run(step);
      all.insert(all.end(), logits.begin(), logits.end());
      tokens = tokens.subspan(part.size());
    }
    return all;
  }

  TinyModel tiny_;
  StatePool pool_;
};

TEST_P(SequenceTest, ChunksDoNotMatter) {
  const auto tokens = random_tokens(201, 1);
  SequenceState whole(pool_);
  const std::vector<float> expected = run_chunks(whole, tokens, 201);
  ASSERT_EQ(expected.size(), 201U * kTinyVocab);
  ASSERT_NE(*std::max_element(expected.begin(), expected.end()), 0.0F);
  for (const int64_t chunk : {1, 3, 63, 64, 65, 128}) {
    SequenceState sequence(pool_);
    EXPECT_EQ(run_chunks(sequence, tokens, chunk), expected) << "steps of " << chunk;
  }
}

TEST_P(SequenceTest, CompanyDoesNotMatter) {
  const auto tokens = random_tokens(40, 2);
  SequenceState alone(pool_);
  const std::vector<float> expected = run_chunks(alone, tokens, 40);
  std::vector<SequenceState> sequences;
  Step step;
  for (int64_t i = 0; i < 7; ++i) {
    sequences.emplace_back(pool_);
    const auto other = random_tokens(11 * i + 5, static_cast<uint64_t>(50 + i));
    sequences.back().append_to(step, i == 4 ? tokens : other, i == 4 ? LogitRows::kAll : LogitRows::kLast);
  }
  const std::vector<float> logits = run(step);
  const size_t before = 4U * kTinyVocab;  // one row each of the four before it
  ASSERT_EQ(logits.size(), (6U + 40U) * kTinyVocab);
  const std::vector<float> found(logits.begin() + before,
                                 logits.begin() + before + static_cast<int64_t>(expected.size()));
  EXPECT_EQ(found, expected);
}

TEST_P(SequenceTest, ForkContinuesLikeTheOriginal) {
  for (const int64_t length : {1, 63, 64, 65, 130}) {
    const auto start = random_tokens(length, 3);
    const auto left = random_tokens(70, 4);
    const auto right = random_tokens(70, 5);
    SequenceState original(pool_);
    run_chunks(original, start, 64);
    SequenceState fork = original.fork();
    EXPECT_EQ(fork.length(), length);
    // Both go on in turns, differently: neither may see what the other writes.
    std::vector<float> found_left = run_chunks(original, std::span(left).first(3), 3);
    std::vector<float> found_right = run_chunks(fork, right, 7);
    const std::vector<float> rest = run_chunks(original, std::span(left).subspan(3), 9);
    found_left.insert(found_left.end(), rest.begin(), rest.end());
    for (const auto& [tokens, found] : {std::pair(&left, &found_left), std::pair(&right, &found_right)}) {
      SequenceState cold(pool_);
      run_chunks(cold, start, 32);
      EXPECT_EQ(run_chunks(cold, *tokens, 70), *found) << "forked at " << length;
    }
  }
}

TEST_P(SequenceTest, PagesAndSlotsComeBack) {
  const int64_t pages = pool_.free_pages();
  const int64_t slots = pool_.free_slots();
  {
    SequenceState sequence(pool_);
    run_chunks(sequence, random_tokens(130, 6), 130);
    EXPECT_EQ(pool_.free_pages(), pages - 3);
    SequenceState fork = sequence.fork();
    EXPECT_EQ(pool_.free_pages(), pages - 4);  // two whole pages are shared
    EXPECT_EQ(pool_.free_slots(), slots - 2);
    const SequenceState moved = std::move(fork);
    sequence = SequenceState(pool_);
    EXPECT_EQ(pool_.free_pages(), pages - 3);
    EXPECT_EQ(moved.length(), 130);
  }
  EXPECT_EQ(pool_.free_pages(), pages);
  EXPECT_EQ(pool_.free_slots(), slots);
}

TEST(StatePoolTest, RunningOutOfPagesStops) {
  TinyModel tiny({"ref", true}, kSize);
  StatePool pool(*tiny.backend, state_shape(tiny.model->config(), false), 2, 1);
  SequenceState sequence(pool);
  const std::vector<int32_t> tokens = random_tokens(kPageSize * 3, 8);
  Step step;
  EXPECT_DEATH(sequence.append_to(step, tokens, LogitRows::kNone), "free_pages");
}

INSTANTIATE_TEST_SUITE_P(All, SequenceTest, ::testing::ValuesIn(backend_cases(true)),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace tercet
