// The ops that read and write state: attention, convolution, gated delta rule. Every backend against ref,
// against the plain recurrence, and against itself with the rows cut and mixed otherwise.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/host_matrix.h"
#include "support/backends.h"
#include "support/checker.h"
#include "support/tolerance.h"

namespace tercet {
namespace {

StateShape small_shape() {
  StateShape shape;
  shape.attention_layers = 2;
  shape.kv_heads = 2;
  shape.head_dim = 20;
  shape.gdn_layers = 2;
  shape.key_heads = 2;
  shape.value_heads = 6;
  shape.key_dim = 12;
  shape.value_dim = 20;
  shape.conv_kernel = 4;
  return shape;
}

constexpr int64_t kPagesPerSequence = 4;
constexpr int64_t kLength = 200;

/// Inputs of one sequence for all ops.
struct Inputs {
  HostMatrix q, k, v, u, g, beta, w;
};

Inputs make_inputs(SplitMix64& random, const StateShape& shape, int64_t rows) {
  Inputs inputs;
  inputs.q = random_matrix(random, rows, 4 * shape.head_dim, 2.0);
  inputs.k = random_matrix(random, rows, shape.kv_heads * shape.head_dim, 2.0);
  inputs.v = random_matrix(random, rows, shape.kv_heads * shape.head_dim);
  inputs.u = random_matrix(random, rows, shape.conv_channels());
  inputs.g = random_matrix(random, rows, shape.value_heads);
  for (float& g : inputs.g.values) g = -0.2F * std::abs(g);
  inputs.beta = random_matrix(random, rows, shape.value_heads);
  for (float& beta : inputs.beta.values) beta = 1.0F / (1.0F + std::exp(-beta));
  return inputs;
}

struct Outputs {
  HostMatrix attended, convolved, delta;
};

HostMatrix slice(const HostMatrix& matrix, int64_t begin, int64_t rows) {
  HostMatrix result(rows, matrix.cols);
  std::copy_n(matrix.values.begin() + begin * matrix.cols, rows * matrix.cols, result.values.begin());
  return result;
}

void append(HostMatrix& matrix, const HostMatrix& rows) {
  matrix.cols = rows.cols;
  matrix.rows += rows.rows;
  matrix.values.insert(matrix.values.end(), rows.values.begin(), rows.values.end());
}

class Sequences : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    tested_ = open_backend(GetParam());
    reference_ = open_backend({"ref", true});
    SplitMix64 random(22);
    for (int i = 0; i < 3; ++i) inputs_.push_back(make_inputs(random, shape_, kLength));
    w_ = random_matrix(random, shape_.conv_channels(), shape_.conv_kernel);
    for (Backend* backend : {tested_.get(), reference_.get()}) {
      StepLimits limits;
      limits.rows = 3 * kLength;
      limits.sequences = 3;
      limits.pages = 3 * kPagesPerSequence;
      limits.logit_rows = 4;
      limits.widest = 512;
      backend->plan(limits);
    }
  }

  /// Runs the state ops of layer 1 for `counts[s]` rows of sequence s from `position[s]` on.
  void run(Backend& backend, State& state, std::vector<int64_t>& position, const std::vector<int64_t>& counts,
           std::vector<Outputs>& outputs) {
    Step step;
    Inputs batch;
    for (size_t s = 0; s < counts.size(); ++s) {
      for (int32_t page = 0; page < kPagesPerSequence;
           ++page) {  // interleaved: pages of a sequence are not neighbours
        step.pages.push_back(page * 3 + static_cast<int32_t>(s));
      }
      if (counts[s] == 0) continue;
      step.sequences.push_back({step.rows(), counts[s], position[s], static_cast<int64_t>(s),
                                static_cast<int64_t>(s) * kPagesPerSequence});
      step.tokens.resize(step.tokens.size() + static_cast<size_t>(counts[s]));
      const Inputs& in = inputs_[s];
      append(batch.q, slice(in.q, position[s], counts[s]));
      append(batch.k, slice(in.k, position[s], counts[s]));
      append(batch.v, slice(in.v, position[s], counts[s]));
      append(batch.u, slice(in.u, position[s], counts[s]));
      append(batch.g, slice(in.g, position[s], counts[s]));
      append(batch.beta, slice(in.beta, position[s], counts[s]));
    }
    Exchange exchange(backend);
    backend.begin_step(step);
    backend.kv_append(exchange.put(batch.k), exchange.put(batch.v), state, 1);
    const TensorView attended = exchange.empty(batch.q.rows, batch.q.cols);
    backend.attention(exchange.put(batch.q), state, 1, attended);
    const TensorView convolved = exchange.empty(batch.u.rows, batch.u.cols);
    backend.conv1d_update(exchange.put(batch.u), exchange.put(w_), state, 1, convolved);
    const TensorView delta = exchange.empty(batch.u.rows, shape_.value_heads * shape_.value_dim);
    backend.gated_delta_rule(convolved, exchange.put(batch.g), exchange.put(batch.beta), state, 1, delta);
    const Outputs all = {exchange.get(attended), exchange.get(convolved), exchange.get(delta)};
    int64_t row = 0;
    for (size_t s = 0; s < counts.size(); ++s) {
      append(outputs[s].attended, slice(all.attended, row, counts[s]));
      append(outputs[s].convolved, slice(all.convolved, row, counts[s]));
      append(outputs[s].delta, slice(all.delta, row, counts[s]));
      row += counts[s];
      position[s] += counts[s];
    }
  }

  std::unique_ptr<State> new_state(Backend& backend) {
    return backend.create_state(shape_, 3 * kPagesPerSequence, 4);
  }

  /// Sequence 0 whole, in one step, alone.
  Outputs whole(Backend& backend) {
    const auto state = new_state(backend);
    std::vector<int64_t> position(1);
    std::vector<Outputs> outputs(1);
    run(backend, *state, position, {kLength}, outputs);
    return outputs[0];
  }

  static void expect_equal_bits(const Outputs& found, const Outputs& expected, const std::string& what) {
    EXPECT_EQ(found.attended.values, expected.attended.values) << what;
    EXPECT_EQ(found.convolved.values, expected.convolved.values) << what;
    EXPECT_EQ(found.delta.values, expected.delta.values) << what;
  }

  StateShape shape_ = small_shape();
  std::vector<Inputs> inputs_;
  HostMatrix w_;
  std::unique_ptr<Backend> tested_;
  std::unique_ptr<Backend> reference_;
};

TEST_P(Sequences, AgreeWithTheReference) {
  const Outputs found = whole(*tested_);
  const Outputs expected = whole(*reference_);
  const Inputs& in = inputs_[0];
  const double score = static_cast<double>(shape_.head_dim) * in.q.largest() * in.k.largest() /
                       std::sqrt(static_cast<double>(shape_.head_dim));
  EXPECT_TRUE(within(found.attended.values, expected.attended.values, [&](int64_t) {
    return tolerance::attention(shape_.head_dim, kLength, score, in.v.largest());
  }));
  EXPECT_TRUE(within(found.convolved.values, expected.convolved.values, [&](int64_t) {
    return tolerance::dot(4, 4 * in.u.largest() * w_.largest()) +
           tolerance::kElementary * expected.convolved.largest();
  }));
  EXPECT_TRUE(within(found.delta.values, expected.delta.values, [&](int64_t) {
    return tolerance::delta_rule(shape_.key_dim, kChunkSize, expected.convolved.largest());
  }));
}

TEST_P(Sequences, DeltaRuleIsThePlainRecurrence) {
  const Outputs found = whole(*tested_);
  const int64_t key_width = shape_.key_heads * shape_.key_dim;
  for (int64_t h = 0; h < shape_.value_heads; ++h) {
    const int64_t key_head = h / (shape_.value_heads / shape_.key_heads);
    std::vector<double> state(static_cast<size_t>(shape_.key_dim * shape_.value_dim));
    std::vector<float> expected;
    std::vector<float> outputs;
    for (int64_t t = 0; t < kLength; ++t) {
      const auto row = found.convolved.row(t);
      std::vector<double> q, k;
      double qq = 0;
      double kk = 0;
      for (int64_t r = 0; r < shape_.key_dim; ++r) {
        q.push_back(static_cast<double>(row[static_cast<size_t>(key_head * shape_.key_dim + r)]));
        k.push_back(static_cast<double>(row[static_cast<size_t>(key_width + key_head * shape_.key_dim + r)]));
        qq += q.back() * q.back();
        kk += k.back() * k.back();
      }
      for (double& x : q) x /= std::sqrt(qq + 1e-6) * std::sqrt(static_cast<double>(shape_.key_dim));
      for (double& x : k) x /= std::sqrt(kk + 1e-6);
      const double decay = std::exp(static_cast<double>(inputs_[0].g.row(t)[static_cast<size_t>(h)]));
      const double beta = static_cast<double>(inputs_[0].beta.row(t)[static_cast<size_t>(h)]);
      for (double& s : state) s *= decay;
      for (int64_t d = 0; d < shape_.value_dim; ++d) {
        const auto s = [&](int64_t r) -> double& {
          return state[static_cast<size_t>(r * shape_.value_dim + d)];
        };
        double read = 0;
        for (int64_t r = 0; r < shape_.key_dim; ++r) read += s(r) * k[static_cast<size_t>(r)];
        const double correction =
            beta *
            (static_cast<double>(row[static_cast<size_t>(2 * key_width + h * shape_.value_dim + d)]) - read);
        double out = 0;
        for (int64_t r = 0; r < shape_.key_dim; ++r) {
          s(r) += k[static_cast<size_t>(r)] * correction;
          out += s(r) * q[static_cast<size_t>(r)];
        }
        expected.push_back(static_cast<float>(out));
        outputs.push_back(found.delta.row(t)[static_cast<size_t>(h * shape_.value_dim + d)]);
      }
    }
    EXPECT_TRUE(within(outputs, expected,
                       [&](int64_t) {
                         return 2 *
                                tolerance::delta_rule(shape_.key_dim, kChunkSize, found.convolved.largest());
                       }))
        << "head " << h;
  }
}

TEST_P(Sequences, BitsDoNotDependOnHowRowsAreCut) {
  const Outputs expected = whole(*tested_);
  for (const int64_t chunk : {1, 3, 64, 63, 130}) {
    const auto state = new_state(*tested_);
    std::vector<int64_t> position(1);
    std::vector<Outputs> outputs(1);
    while (position[0] < kLength)
      run(*tested_, *state, position, {std::min(chunk, kLength - position[0])}, outputs);
    expect_equal_bits(outputs[0], expected, "chunks of " + std::to_string(chunk));
  }
}

TEST_P(Sequences, BitsDoNotDependOnTheBatch) {
  const Outputs expected = whole(*tested_);
  const auto state = new_state(*tested_);
  std::vector<int64_t> position(3);
  std::vector<Outputs> outputs(3);
  const std::vector<std::vector<int64_t>> steps = {{0, 70, 5},  {50, 1, 1}, {1, 1, 100},
                                                   {60, 64, 0}, {1, 1, 1},  {88, 10, 20}};
  for (const std::vector<int64_t>& counts : steps) run(*tested_, *state, position, counts, outputs);
  ASSERT_EQ(position[0], kLength);
  expect_equal_bits(outputs[0], expected, "among others");
}

TEST_P(Sequences, StaleMemoryIsNeverRead) {
  const Outputs expected = whole(*tested_);
  const auto state = new_state(*tested_);
  std::vector<Outputs> first(1);
  std::vector<int64_t> position(1);
  run(*tested_, *state, position, {kLength},
      first);  // leaves the slot and pages full of another run's values
  std::vector<Outputs> second(1);
  position = {0};
  run(*tested_, *state, position, {kLength}, second);
  expect_equal_bits(second[0], expected, "reused slot and pages");
}

TEST_P(Sequences, ACopiedSlotContinuesAlike) {
  const Outputs expected = whole(*tested_);
  for (const int64_t border : {1, 63, 64, 100}) {
    const auto state = new_state(*tested_);
    std::vector<int64_t> position(1);
    std::vector<Outputs> outputs(1);
    run(*tested_, *state, position, {border}, outputs);
    tested_->copy_slot(*state, 0, 3);
    std::vector<Outputs> spoiled(1);
    std::vector<int64_t> other(1);
    run(*tested_, *state, other, {5},
        spoiled);  // overwrites slot 0 and the first page's first rows with equal values
    tested_->copy_slot(*state, 3, 0);
    run(*tested_, *state, position, {kLength - border}, outputs);
    EXPECT_EQ(outputs[0].delta.values, expected.delta.values) << "snapshot at " << border;
    EXPECT_EQ(outputs[0].convolved.values, expected.convolved.values) << "snapshot at " << border;
  }
}

TEST_P(Sequences, ACopiedPageHoldsTheSameKeys) {
  const Outputs expected = whole(*tested_);
  const auto state = new_state(*tested_);
  std::vector<int64_t> position(1);
  std::vector<Outputs> outputs(1);
  run(*tested_, *state, position, {100}, outputs);
  tested_->copy_page(*state, 0, 11);
  tested_->copy_page(*state, 2, 0);  // spoils page 0
  tested_->copy_page(*state, 11, 0);
  run(*tested_, *state, position, {100}, outputs);
  EXPECT_EQ(outputs[0].attended.values, expected.attended.values);
}

INSTANTIATE_TEST_SUITE_P(Backends, Sequences, ::testing::ValuesIn(backend_cases(false)),
                         [](const auto& which) { return case_name(which.param); });

}  // namespace
}  // namespace tercet
