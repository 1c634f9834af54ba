// Norms, gates, routing and sampling: every backend against ref.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ops/host_matrix.h"
#include "support/backends.h"
#include "support/checker.h"
#include "support/tolerance.h"

namespace tercet {
namespace {

constexpr float kEps = 1e-6F;

class Elementwise : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    tested_ = open_backend(GetParam());
    reference_ = open_backend({"ref", true});
    for (Backend* backend : {tested_.get(), reference_.get()}) {
      backend->plan({.rows = 64,
                     .sequences = 8,
                     .pages = 64,
                     .logit_rows = 64,
                     .widest = 1024,
                     .top_k = 8,
                     .experts = 64,
                     .expert_width = 64,
                     .vocab = 1024});
    }
  }

  /// Runs `op` on both backends and compares what it returns; `bound` of the largest value of the reference.
  void compare(const std::function<TensorView(Backend&, Exchange&)>& op,
               const std::function<double(double)>& bound, bool empty = false) {
    Exchange tested_exchange(*tested_);
    Exchange reference_exchange(*reference_);
    const HostMatrix found = tested_exchange.get(op(*tested_, tested_exchange));
    const HostMatrix expected = reference_exchange.get(op(*reference_, reference_exchange));
    const double allowed = bound(expected.largest());
    EXPECT_TRUE(within(
        found.values, expected.values, [&](int64_t) { return allowed; }, empty));
  }

  std::unique_ptr<Backend> tested_;
  std::unique_ptr<Backend> reference_;
  SplitMix64 random_{21};
};

TEST_P(Elementwise, RmsNorm) {
  for (const int64_t rows : {0, 1, 3, 17}) {
    for (const int64_t cols : {1, 8, 33, 256, 1000}) {
      for (const bool offset : {false, true}) {
        const HostMatrix x = random_matrix(random_, rows, cols, 3.0);
        const HostMatrix w = random_matrix(random_, 1, cols);
        compare(
            [&](Backend& ops, Exchange& exchange) {
              const TensorView out = exchange.empty(rows, cols);
              ops.rms_norm(exchange.put(x), exchange.put(w), kEps, offset, out);
              return out;
            },
            [&](double size) { return tolerance::normalized(cols, size); }, rows == 0);
      }
    }
  }
}

TEST_P(Elementwise, GatedRmsNorm) {
  for (const int64_t head : {8, 20, 128}) {
    const HostMatrix x = random_matrix(random_, 5, 3 * head);
    const HostMatrix z = random_matrix(random_, 5, 3 * head, 4.0);
    const HostMatrix w = random_matrix(random_, 1, head);
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView out = exchange.empty(5, 3 * head);
          ops.gated_rms_norm(exchange.put(x), exchange.put(z), exchange.put(w), kEps, out);
          return out;
        },
        [&](double size) { return tolerance::normalized(head, size); });
  }
}

TEST_P(Elementwise, SigmoidGateSiluMulAdd) {
  for (const int64_t cols : {1, 7, 96}) {
    const HostMatrix x = random_matrix(random_, 6, cols);
    const HostMatrix y =
        random_matrix(random_, 6, cols, 30.0);  // large arguments: exp must not overflow into NaN
    const HostMatrix gate = random_matrix(random_, 6, 1, 5.0);
    const auto elementary = [](double size) { return tolerance::kElementary * size; };
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView out = exchange.put(x);
          ops.sigmoid_gate(out, exchange.put(y));
          return out;
        },
        elementary);
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView out = exchange.put(x);
          ops.sigmoid_gate(out, exchange.put(gate));
          return out;
        },
        elementary);
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView out = exchange.empty(6, cols);
          ops.silu_mul(exchange.put(y), exchange.put(x), out);
          return out;
        },
        elementary);
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView out = exchange.put(x);
          ops.add(out, exchange.put(y));
          return out;
        },
        elementary);
  }
}

TEST_P(Elementwise, GdnGates) {
  const HostMatrix a = random_matrix(random_, 9, 5, 20.0);  // both branches of softplus
  const HostMatrix b = random_matrix(random_, 9, 5, 3.0);
  const HostMatrix a_log = random_matrix(random_, 1, 5, 2.0);
  const HostMatrix bias = random_matrix(random_, 1, 5);
  for (const bool want_beta : {false, true}) {
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView g = exchange.empty(9, 5);
          const TensorView beta = exchange.empty(9, 5);
          ops.gdn_gates(exchange.put(a), exchange.put(b), exchange.put(a_log), exchange.put(bias), g, beta);
          return want_beta ? beta : g;
        },
        [](double size) { return 2 * tolerance::kElementary * size; });
  }
}

TEST_P(Elementwise, QkNormRope) {
  constexpr int64_t kDim = 24;
  constexpr int64_t kHeads = 3;
  Step step;
  step.tokens.assign(7, 0);
  step.sequences = {{0, 4, 1000, 0, 0}, {4, 3, 0, 1, 16}};
  step.pages.assign(20, 0);
  const HostMatrix qg = random_matrix(random_, 7, kHeads * 2 * kDim);
  const HostMatrix k = random_matrix(random_, 7, kDim);
  const HostMatrix q_norm = random_matrix(random_, 1, kDim);
  const HostMatrix k_norm = random_matrix(random_, 1, kDim);
  HostMatrix frequencies(1, 4);
  frequencies.values = {1.0F, 0.3F, 0.01F, 0.0002F};
  for (const int result : {0, 1, 2}) {
    compare(
        [&](Backend& ops, Exchange& exchange) {
          const TensorView query = exchange.empty(7, kHeads * kDim);
          const TensorView gate = exchange.empty(7, kHeads * kDim);
          const TensorView key = exchange.put(k);
          ops.begin_step(step);
          ops.qk_norm_rope(exchange.put(qg), key, exchange.put(q_norm), exchange.put(k_norm),
                           exchange.put(frequencies), kEps, query, gate);
          return result == 0 ? query : result == 1 ? key : gate;
        },
        [&](double size) {
          return result == 2 ? 0 : tolerance::normalized(kDim, size) + tolerance::rotated(1003, size);
        });
  }
}

TEST_P(Elementwise, RouterTopK) {
  for (const int64_t experts : {4, 16, 33, 64}) {
    HostMatrix logits = random_matrix(random_, 12, experts, 4.0);
    for (int64_t e = 0; e < experts; ++e)
      logits.values[static_cast<size_t>(e)] = 1.5F;  // all tied: the lowest indices
    std::vector<std::vector<int32_t>> index;
    std::vector<HostMatrix> weight;
    for (Backend* backend : {tested_.get(), reference_.get()}) {
      Exchange exchange(*backend);
      const TensorView index_view = exchange.empty(12, 4, DType::kI32);
      const TensorView weight_view = exchange.empty(12, 4);
      backend->router_topk(exchange.put(logits), index_view, weight_view);
      index.push_back(exchange.get_indices(index_view));
      weight.push_back(exchange.get(weight_view));
    }
    EXPECT_EQ(index[0], index[1]);
    EXPECT_EQ((std::vector<int32_t>(index[0].begin(), index[0].begin() + 4)),
              (std::vector<int32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(
        within(weight[0].values, weight[1].values, [](int64_t) { return 2 * tolerance::kElementary; }));
    for (int64_t t = 0; t < 12; ++t) {
      double sum = 0;
      for (const float share : weight[0].row(t)) sum += static_cast<double>(share);
      EXPECT_NEAR(sum, 1.0, tolerance::kElementary);
    }
  }
}

std::vector<int32_t> draw(Backend& backend, const HostMatrix& logits, const SamplingBatch& batch) {
  Exchange exchange(backend);
  const TensorView token = exchange.empty(logits.rows, 1, DType::kI32);
  backend.sample(exchange.put(logits), batch, token);
  return exchange.get_indices(token);
}

TEST_P(Elementwise, SampleGreedy) {
  HostMatrix logits = random_matrix(random_, 4, 100);
  logits.values[7] = logits.values[50] = 99.0F;  // tied: the lower id
  logits.values[100 + 3] = std::numeric_limits<float>::quiet_NaN();
  logits.values[100 + 9] = 40.0F;
  logits.values[200 + 98] = 50.0F;  // beyond the real vocabulary
  logits.values[200 + 5] = 45.0F;
  for (size_t i = 300; i < 400; ++i) logits.values[i] = std::numeric_limits<float>::quiet_NaN();
  SamplingBatch batch;
  batch.real_vocab = 98;
  batch.rows.resize(4);
  for (SamplingRow& row : batch.rows) row.params.temperature = 0;
  EXPECT_EQ(draw(*tested_, logits, batch), (std::vector<int32_t>{7, 9, 5, -1}));
}

TEST_P(Elementwise, SampleFollowsTheRule) {
  const HostMatrix logits = random_matrix(random_, 32, 200, 3.0);
  const std::vector<int32_t> prompt = {3, 4, 5, 5};
  const std::vector<int32_t> made = {9, 3, 150};
  const std::vector<SamplingParams> cases = {
      {1.0F, 0, 1.0F, 0.0F, 0.0F, 1.0F, 1}, {0.7F, 20, 0.95F, 0.0F, 1.5F, 1.0F, 2},
      {1.3F, 0, 0.5F, 0.0F, 0.0F, 1.3F, 3}, {1.0F, 0, 1.0F, 0.2F, 0.0F, 1.0F, 4},
      {1.0F, 1, 1.0F, 0.0F, 0.0F, 1.0F, 5}, {0.2F, 5, 0.1F, 0.5F, -1.0F, 0.8F, 6}};
  for (const SamplingParams& params : cases) {
    SamplingBatch batch;
    for (uint64_t i = 0; i < 32; ++i) batch.rows.push_back({params, i, prompt, made});
    EXPECT_EQ(draw(*tested_, logits, batch), draw(*reference_, logits, batch)) << "seed " << params.seed;
  }
}

TEST_P(Elementwise, SampleHasTheRightFrequencies) {
  HostMatrix logits(64, 4);
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 4; ++j)
      logits.values[static_cast<size_t>(i * 4 + j)] = std::log(static_cast<float>(j + 1));  // 0.1 0.2 0.3 0.4
  }
  std::vector<int64_t> count(4);
  for (uint64_t round = 0; round < 100; ++round) {
    SamplingBatch batch;
    for (uint64_t i = 0; i < 64; ++i) batch.rows.push_back({SamplingParams{}, round * 64 + i, {}, {}});
    for (const int32_t token : draw(*tested_, logits, batch)) ++count[static_cast<size_t>(token)];
  }
  for (size_t j = 0; j < 4; ++j) {  // five standard deviations of a binomial of 6,400 draws
    const double p = 0.1 * static_cast<double>(j + 1);
    EXPECT_NEAR(static_cast<double>(count[j]) / 6400, p, 5 * std::sqrt(p * (1 - p) / 6400));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Elementwise, ::testing::ValuesIn(backend_cases(false)),
                         [](const auto& which) { return case_name(which.param); });

}  // namespace
}  // namespace tercet
