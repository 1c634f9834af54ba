// A reply depends on its own request alone: on every backend, for greedy and drawn tokens.
#include "runtime/generator.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/tiny_model.h"

namespace tercet {
namespace {

constexpr StepSize kSize = {.rows = 48, .sequences = 3, .context = 256, .logit_rows = 3};
constexpr int64_t kRealVocab = 90;

class GeneratorTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  GeneratorTest()
      : tiny_(GetParam(), kSize, 4),
        pool_(*tiny_.backend, state_shape(tiny_.model->config(), false), 16, 4),
        generator_(*tiny_.model, pool_, kSize, kRealVocab) {}

  static Request request(int64_t prompt, uint64_t seed, int64_t max_tokens) {
    Request request;
    request.prompt = random_tokens(prompt, seed);
    request.max_tokens = max_tokens;
    request.sampling.seed = seed;
    request.sampling.temperature = seed % 2 == 0 ? 0.0F : 1.0F;
    return request;
  }

  Reply run_one(Request request) {
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    return std::move(generator_.run(std::move(requests)).front());
  }

  TinyModel tiny_;
  StatePool pool_;
  Generator generator_;
};

TEST_P(GeneratorTest, BatchEqualsEachAlone) {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 9; ++i) {
    requests.push_back(request(1 + 17 * static_cast<int64_t>(i), i, 3 + static_cast<int64_t>(7 * i % 11)));
  }
  int64_t finished = 0;
  const auto replies = generator_.run(std::move(requests), nullptr, [&](int64_t count) { finished = count; });
  ASSERT_EQ(replies.size(), 9U);
  EXPECT_EQ(finished, 9);
  for (uint64_t i = 0; i < 9; ++i) {
    const Reply alone =
        run_one(request(1 + 17 * static_cast<int64_t>(i), i, 3 + static_cast<int64_t>(7 * i % 11)));
    EXPECT_EQ(replies[i].tokens, alone.tokens) << "request " << i;
    EXPECT_EQ(replies[i].reason, FinishReason::kLength);
    EXPECT_EQ(std::ssize(alone.tokens), 3 + static_cast<int64_t>(7 * i % 11));
    for (const int32_t token : alone.tokens) EXPECT_LT(token, kRealVocab);
  }
}

TEST_P(GeneratorTest, WarmEqualsCold) {
  Request first = request(70, 1, 20);
  first.keep_state = true;
  const std::vector<int32_t> prompt = first.prompt;
  Reply reply = run_one(std::move(first));
  ASSERT_TRUE(reply.state.has_value());
  EXPECT_EQ(reply.state->length(), 89);  // the last token has not been through the model

  std::vector<int32_t> longer = prompt;
  longer.insert(longer.end(), reply.tokens.begin(), reply.tokens.end());
  const auto more = random_tokens(30, 11);
  longer.insert(longer.end(), more.begin(), more.end());
  Request cold = request(1, 3, 25);
  Request warm = request(1, 3, 25);
  cold.prompt = longer;
  warm.prompt = longer;
  warm.state = std::move(reply.state);
  EXPECT_EQ(run_one(std::move(warm)).tokens, run_one(std::move(cold)).tokens);
}

TEST_P(GeneratorTest, PrefillIsAPromptWithoutLogits) {
  const Request whole = request(130, 5, 10);
  SequenceState state(pool_);
  generator_.prefill(state, std::span(whole.prompt).first(100));
  EXPECT_EQ(state.length(), 100);
  Request warm = request(130, 5, 10);
  warm.state = std::move(state);
  EXPECT_EQ(run_one(std::move(warm)).tokens, run_one(request(130, 5, 10)).tokens);
}

TEST_P(GeneratorTest, StopsWhereAsked) {
  const Reply free = run_one(request(20, 1, 30));
  ASSERT_EQ(free.tokens.size(), 30U);
  const int32_t wanted = free.tokens[6];
  const auto first = std::find(free.tokens.begin(), free.tokens.end(), wanted);

  Request by_id = request(20, 1, 30);
  by_id.stop_ids = {1000, wanted};
  const Reply stopped = run_one(std::move(by_id));
  EXPECT_EQ(stopped.reason, FinishReason::kStop);
  EXPECT_EQ(stopped.tokens, std::vector<int32_t>(free.tokens.begin(), first + 1));

  Request by_caller = request(20, 1, 30);
  int64_t seen = 0;
  by_caller.on_token = [&](int32_t) { return ++seen < 4; };
  const Reply told = run_one(std::move(by_caller));
  EXPECT_EQ(told.reason, FinishReason::kStop);
  EXPECT_EQ(told.tokens, std::vector<int32_t>(free.tokens.begin(), free.tokens.begin() + 4));
}

TEST_P(GeneratorTest, CancelEndsRunningAndWaiting) {
  std::atomic<bool> cancel{false};
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 5; ++i) requests.push_back(request(10, i, 100));
  requests[0].keep_state = true;
  int64_t seen = 0;
  requests[0].on_token = [&](int32_t) {
    cancel = ++seen == 5;
    return true;
  };
  const int64_t slots = pool_.free_slots();
  const auto replies = generator_.run(std::move(requests), &cancel);
  for (const Reply& reply : replies) EXPECT_EQ(reply.reason, FinishReason::kCancelled);
  EXPECT_EQ(replies[0].tokens.size(), 5U);
  ASSERT_TRUE(replies[0].state.has_value());
  EXPECT_EQ(replies[0].state->length(), 14);
  EXPECT_TRUE(replies[4].tokens.empty());
  EXPECT_EQ(pool_.free_slots(), slots - 1);
}

TEST_P(GeneratorTest, SeedsRepeatAndDiffer) {
  const Reply one = run_one(request(12, 1, 40));
  EXPECT_EQ(run_one(request(12, 1, 40)).tokens, one.tokens);
  Request other = request(12, 1, 40);
  other.sampling.seed = 99;
  EXPECT_NE(run_one(std::move(other)).tokens, one.tokens);
}

TEST_P(GeneratorTest, ScarcePagesOnlyDelay) {
  // Each needs three pages: two fit beside each other in three places, and the third waits.
  StatePool scarce(*tiny_.backend, state_shape(tiny_.model->config(), false), 7, 4);
  Generator generator(*tiny_.model, scarce, kSize, kRealVocab);
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 4; ++i) requests.push_back(request(150, i, 20));
  const auto replies = generator.run(std::move(requests));
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(replies[i].tokens, run_one(request(150, i, 20)).tokens);
  EXPECT_EQ(scarce.free_pages(), 7);
}

INSTANTIATE_TEST_SUITE_P(All, GeneratorTest, ::testing::ValuesIn(backend_cases(true)),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace tercet
