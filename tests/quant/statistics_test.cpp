#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/ref/ref.h"
#include "base/random.h"
#include "checkpoint/checkpoint.h"
#include "quant/audit.h"
#include "quant/ffn_statistics.h"

namespace tercet {
namespace {

constexpr const char* kNano = TERCET_SOURCE_DIR "/models/nano";

std::vector<std::vector<int32_t>> random_windows(int64_t count, int64_t length) {
  SplitMix64 random(3);
  std::vector<std::vector<int32_t>> windows(static_cast<size_t>(count));
  for (auto& window : windows) {
    for (int64_t i = 0; i < length; ++i) window.push_back(static_cast<int32_t>(random.below(8000)));
  }
  return windows;
}

std::unique_ptr<Backend> exact_backend() {
  return open_ref_backend({.threads = 1, .exact = true, .device = 0});
}

TEST(TokenWeights, OwnTokensAreEnough) {
  const TokenWeights weights = weigh_tokens(50, 1000, {0.01, true});
  EXPECT_EQ(weights.own, 1.0F / 50);
  EXPECT_EQ(weights.other, 0);
  EXPECT_EQ(weights.shortage, "");
}

TEST(TokenWeights, OthersFillUpToTheThreshold) {
  for (const int64_t samples : {0, 4}) {
    const TokenWeights weights = weigh_tokens(samples, 1000, {0.01, true});
    EXPECT_EQ(weights.own, 0.1F);
    EXPECT_LT(weights.other, weights.own / 50);
    const double total = static_cast<double>(samples) * static_cast<double>(weights.own) +
                         static_cast<double>(1000 - samples) * static_cast<double>(weights.other);
    EXPECT_NEAR(total, 1, 1e-6);
    EXPECT_EQ(weights.shortage, "");
  }
}

TEST(TokenWeights, TooFewTokensInAllIsAShortage) {
  EXPECT_EQ(weigh_tokens(10, 1000, {2000, false}).shortage, "1000 calibration tokens, fewer than 2000");
}

/// Keeps what one layer shows.
class Recorder final : public Observer {
 public:
  explicit Recorder(Backend& backend) : backend_(backend) {}

  void observe(Tap tap, int64_t layer, const TensorView& value) override {
    if (layer != 0) return;
    if (tap == Tap::kFfnInput) keep(value, inputs);
    if (tap == Tap::kRouting) keep(value, experts);
  }
  std::vector<float> inputs;
  std::vector<int32_t> experts;

 private:
  template <class T>
  void keep(const TensorView& value, std::vector<T>& out) {
    std::vector<T> rows(static_cast<size_t>(value.count()));
    backend_.download(rows.data(), value.data, value.bytes());
    out.insert(out.end(), rows.begin(), rows.end());
  }
  Backend& backend_;
};

/// E[x x^T] of one expert's tokens (all with expert -1) in double.
std::vector<double> expected_squares(const Recorder& seen, int64_t hidden, int64_t top_k, int64_t expert) {
  std::vector<double> squares(static_cast<size_t>(hidden * hidden));
  int64_t count = 0;
  for (int64_t t = 0; t < static_cast<int64_t>(seen.experts.size()) / top_k; ++t) {
    const auto first = seen.experts.begin() + t * top_k;
    if (expert >= 0 && std::find(first, first + top_k, static_cast<int32_t>(expert)) == first + top_k)
      continue;
    ++count;
    const float* x = seen.inputs.data() + t * hidden;
    for (int64_t i = 0; i < hidden * hidden; ++i) {
      squares[static_cast<size_t>(i)] +=
          static_cast<double>(x[i / hidden]) * static_cast<double>(x[i % hidden]);
    }
  }
  for (double& square : squares) square /= static_cast<double>(count);
  return squares;
}

TEST(FfnStatistics, SumsAreThoseOfTheRoutedTokens) {
  const auto backend = exact_backend();
  const auto source = Checkpoint::open(kNano);
  const ModelConfig& config = source->config();
  const auto windows = random_windows(2, 40);
  WindowRunner runner(*backend, config, windows);
  const Stream embedded = runner.embed(bind_matrix(*backend, *source, "embed_tokens"));
  const LayerWeights layer = bind_layer(*backend, *source, 0);
  Recorder seen(*backend);
  runner.each_chunk([&](const Chunk& chunk) {
    runner.load(embedded, chunk);
    StepContext context = runner.context(0, chunk, &seen);
    decoder_layer(context, layer, 0, 0);
  });

  Stream stream = embedded;
  runner.advance_mixer(1, layer, 0, stream);
  FfnStatistics statistics(runner, stream, stream, layer.post_attention_layernorm, true);
  const std::vector<int64_t> tokens = statistics.route(std::get<MoeWeights>(layer.ffn).router);
  int64_t routed = 0;
  for (const int64_t count : tokens) routed += count;
  EXPECT_EQ(routed, 80 * config.top_k);
  for (const int64_t expert : {-1, 2, 7}) {
    const int64_t samples = expert < 0 ? 80 : tokens[static_cast<size_t>(expert)];
    if (samples == 0) continue;
    std::vector<FfnSubject> subjects;
    subjects.push_back({expert,
                        weigh_tokens(samples, 80, {1, false}),
                        InputSums(*backend, config.hidden_size, true),
                        {},
                        {}});
    statistics.collect(subjects);
    const InputStatistics found = subjects.front().sums.download(*backend);
    const std::vector<double> expected = expected_squares(seen, config.hidden_size, config.top_k, expert);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(found.squares[i]), expected[i], 1e-5 * (1 + std::abs(expected[i])));
      EXPECT_EQ(found.cross[i], found.squares[i]);
    }
  }
}

/// A layer at a time must be the same function as the whole model.
TEST(Audit, LayerwiseEqualsTheWholeModel) {
  const auto backend = exact_backend();
  const auto source = Checkpoint::open(kNano);
  const auto windows = random_windows(1, 70);
  ThreadPool pool(1);
  const Divergence none = measure_divergence(*backend, *source, *source, windows, pool);
  EXPECT_EQ(none.positions(), 70);
  EXPECT_EQ(none.kl().max, 0);
  EXPECT_EQ(none.top1(), 1);

  WindowRunner runner(*backend, source->config(), windows);
  Stream stream = runner.embed(bind_matrix(*backend, *source, "embed_tokens"));
  for (int64_t i = 0; i < source->config().layer_count(); ++i) {
    const LayerWeights weights = bind_layer(*backend, *source, i);
    runner.advance_mixer(0, weights, i, stream);
    runner.advance_ffn(0, weights, i, stream);
  }
  Model model(*backend, source->config(), bind_weights(*backend, *source, false),
              {.rows = 70, .sequences = 1, .context = 70, .logit_rows = 1});
  const auto state = backend->create_state(state_shape(source->config(), false), 2, 1);
  class Last final : public Observer {
   public:
    explicit Last(int64_t layer) : layer_(layer) {}
    void observe(Tap tap, int64_t layer, const TensorView& value) override {
      if (tap == Tap::kLayerOutput && layer == layer_)
        hidden.assign(value.f32(), value.f32() + value.count());
    }
    std::vector<float> hidden;

   private:
    int64_t layer_;
  } last(source->config().layer_count() - 1);
  model.forward({.tokens = windows[0], .sequences = {{0, 70, 0, 0, 0}}, .pages = {0, 1}, .logit_rows = {69}},
                *state, &last);
  EXPECT_EQ(last.hidden, stream);
}

}  // namespace
}  // namespace tercet
