// The instruction sets of the simd backend: which one runs, and that all of them, with any number of threads,
// give the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "backends/simd/simd.h"
#include "base/error.h"
#include "base/float_types.h"
#include "ops/host_matrix.h"

namespace tercet {
namespace {

/// Sets TERCET_ISA while it lives.
class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& isa) {
    if (const char* before = std::getenv("TERCET_ISA")) before_ = before;
    setenv("TERCET_ISA", isa.c_str(), 1);
  }
  ~ForcedIsa() {
    unsetenv("TERCET_ISA");
    if (before_) setenv("TERCET_ISA", before_->c_str(), 1);
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  std::optional<std::string> before_;
};

/// What the processor says, independently of the backend.
bool processor_has(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512") return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
#endif
  return isa == "scalar";
}

std::unique_ptr<Backend> open_forced(const std::string& isa, int threads, bool exact) {
  const ForcedIsa forced(isa);
  BackendOptions options;
  options.threads = threads;
  options.exact = exact;
  return open_simd_backend(options);
}

class Isa : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!processor_has(GetParam())) GTEST_SKIP() << "this processor lacks " << GetParam();
  }
};

TEST_P(Isa, TheForcedOneRuns) {
  EXPECT_EQ(open_forced(GetParam(), 1, false)->description(), "simd (" + GetParam() + ")");
  EXPECT_EQ(open_forced(GetParam(), 1, true)->description(), "simd (" + GetParam() + ", exact)");
}

TEST(IsaChoice, AnUnknownOneIsRefusedByName) {
  try {
    open_forced("sse9", 1, false);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("sse9"), std::string::npos);
  }
}

TEST(IsaChoice, OneThatTheProcessorLacksIsRefusedByName) {
  const std::string missing = !processor_has("avx2") ? "avx2" : !processor_has("avx512") ? "avx512" : "";
  if (missing.empty()) GTEST_SKIP() << "this processor has all of them";
  try {
    open_forced(missing, 1, false);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_NE(std::string(error.what()).find(missing), std::string::npos);
  }
}

/// Runs ops on one backend and gathers what they return.
class Script {
 public:
  explicit Script(std::unique_ptr<Backend> backend) : backend_(std::move(backend)), exchange_(*backend_) {
    backend_->plan({.rows = kRows,
                    .sequences = 3,
                    .pages = 12,
                    .logit_rows = kRows,
                    .widest = 512,
                    .top_k = 3,
                    .experts = 5,
                    .expert_width = 96,
                    .vocab = 300});
  }

  std::vector<float> run() {
    products();
    experts();
    row_ops();
    sequences();
    return std::move(results_);
  }

 private:
  static constexpr int64_t kRows = 200;

  TensorView random(int64_t rows, int64_t cols, double size = 1.0) {
    return exchange_.put(random_matrix(random_, rows, cols, size));
  }
  TensorView keep(TensorView view) {
    const std::vector<float> values = exchange_.get(view).values;
    results_.insert(results_.end(), values.begin(), values.end());
    return view;
  }

  void product(const CanonicalMatrix& matrix) {
    const Weight weight = exchange_.weight(matrix);
    for (const int64_t rows : {1, 2, 15}) {
      const TensorView out = exchange_.empty(rows, weight->rows);
      backend_->linear(random(rows, weight->cols), weight, out);
      keep(out);
    }
  }

  void products() {
    HostMatrix values = random_matrix(random_, 37, 90);
    product(dense(values));
    for (float& value : values.values) value = bf16_to_float(float_to_bf16(value));
    product(dense(values));
    for (const int bits : {2, 3, 4, 5, 8}) {
      for (const int64_t group : {32, 128, -1}) {
        for (const bool zeros : {false, true}) {
          product(random_quantized(random_, bits, 37, group == -1 ? 90 : 416, group, zeros,
                                   zeros && group == 32));
        }
      }
    }
  }

  Weight stack(int64_t rows, int64_t cols) {
    std::vector<QuantizedMatrix> matrices;
    for (int i = 0; i < 5; ++i)
      matrices.push_back(random_quantized(random_, i < 4 ? 4 : 3, rows, cols, 32, i % 2 == 1, false));
    return backend_->prepare(5, [&](int64_t i) { return CanonicalMatrix(matrices[static_cast<size_t>(i)]); });
  }

  void experts() {
    const Weight gate = stack(96, 64);
    const Weight up = stack(96, 64);
    const Weight down = stack(64, 96);
    for (const int64_t rows : {1, 20}) {
      const TensorView logits = random(rows, 5);
      const TensorView index = exchange_.empty(rows, 3, DType::kI32);
      const TensorView weight = exchange_.empty(rows, 3);
      backend_->router_topk(logits, index, weight);
      keep(weight);
      const TensorView out = exchange_.empty(rows, 64);
      backend_->moe_ffn(random(rows, 64), index, weight, gate, up, down, out);
      keep(out);
    }
  }

  void row_ops() {
    for (const int64_t cols : {7, 48, 100}) {
      const TensorView x = random(5, cols, 20);
      const TensorView z = random(5, cols, 20);
      const TensorView w = random(1, cols);
      const TensorView out = exchange_.empty(5, cols);
      backend_->rms_norm(x, w, 1e-6F, true, out);
      keep(out);
      backend_->gated_rms_norm(x, z, w, 1e-6F, out);
      keep(out);
      backend_->silu_mul(x, z, out);
      keep(out);
      backend_->sigmoid_gate(out, z);
      keep(out);
      const TensorView sums = random(cols, cols);
      backend_->accumulate_products(x, z, 0.3F, sums);
      keep(sums);
    }
  }

  void sequences() {
    StateShape shape{.attention_layers = 1,
                     .kv_heads = 2,
                     .head_dim = 40,
                     .gdn_layers = 1,
                     .key_heads = 2,
                     .value_heads = 6,
                     .key_dim = 24,
                     .value_dim = 88,
                     .conv_kernel = 4};
    const std::unique_ptr<State> state = backend_->create_state(shape, 6, 2);
    step(*state, {{0, 70, 0, 0, 0}, {70, 3, 0, 1, 3}});
    step(*state, {{0, 1, 70, 0, 0}, {1, 130, 3, 1, 3}});
  }

  void step(State& state, const std::vector<SequenceSpan>& spans) {
    const StateShape& shape = state.shape;
    const int64_t rows = spans.back().first_row + spans.back().rows;
    Step step;
    step.tokens.assign(static_cast<size_t>(rows), 0);
    step.sequences = spans;
    step.pages = {4, 1, 0, 2, 5, 3};
    backend_->begin_step(step);
    const int64_t width = 10 * shape.head_dim;  // five query heads for each of two KV heads
    const TensorView k = random(rows, 2 * shape.head_dim);
    const TensorView q = exchange_.empty(rows, width);
    const TensorView gate = exchange_.empty(rows, width);
    backend_->qk_norm_rope(random(rows, 2 * width), k, random(1, shape.head_dim), random(1, shape.head_dim),
                           random(1, shape.head_dim / 4), 1e-6F, q, gate);
    backend_->kv_append(k, random(rows, 2 * shape.head_dim), state, 0);
    const TensorView attended = exchange_.empty(rows, width);
    backend_->attention(q, state, 0, attended);
    keep(attended);
    const TensorView convolved = exchange_.empty(rows, shape.conv_channels());
    backend_->conv1d_update(random(rows, shape.conv_channels()), random(shape.conv_channels(), 4), state, 0,
                            convolved);
    keep(convolved);
    const TensorView g = exchange_.empty(rows, shape.value_heads);
    const TensorView beta = exchange_.empty(rows, shape.value_heads);
    backend_->gdn_gates(random(rows, 6), random(rows, 6), random(1, 6), random(1, 6), g, beta);
    const TensorView out = exchange_.empty(rows, shape.value_heads * shape.value_dim);
    backend_->gated_delta_rule(convolved, g, beta, state, 0, out);
    keep(out);
  }

  std::unique_ptr<Backend> backend_;
  Exchange exchange_;
  SplitMix64 random_{7};
  std::vector<float> results_;
};

TEST_P(Isa, SameBitsAsTheScalarBuildOnAnyNumberOfThreads) {
  for (const bool exact : {false, true}) {
    const std::vector<float> expected = Script(open_forced("scalar", 1, exact)).run();
    ASSERT_GT(expected.size(), 50000U);
    for (const float value : expected) ASSERT_TRUE(std::isfinite(value));
    for (const int threads : {1, 2, 5}) {
      const std::vector<float> found = Script(open_forced(GetParam(), threads, exact)).run();
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
            << "value " << i << ", " << threads << " threads" << (exact ? ", exact" : "");
      }
    }
  }
}

TEST_P(Isa, SigmoidIsAccurateOverTheWholeRange) {
  const std::unique_ptr<Backend> backend = open_forced(GetParam(), 1, false);
  Exchange exchange(*backend);
  HostMatrix gates(1, 200001);
  for (int64_t i = 0; i < gates.cols; ++i)
    gates.values[static_cast<size_t>(i)] = static_cast<float>(i - 100000) * 1e-3F;
  HostMatrix ones(1, gates.cols);
  for (float& value : ones.values) value = 1.0F;
  const TensorView x = exchange.put(ones);
  backend->sigmoid_gate(x, exchange.put(gates));
  const HostMatrix found = exchange.get(x);
  // e^x within 2 units in the last place, one rounding each for the sum and the quotient, and denormal
  // results in units of the smallest number.
  constexpr double kRelative = 4 * 0x1p-23;
  for (size_t i = 0; i < gates.values.size(); ++i) {
    const double expected = 1.0 / (1.0 + std::exp(-static_cast<double>(gates.values[i])));
    const double bound = kRelative * expected + 0x1p-149;
    ASSERT_LE(static_cast<double>(found.values[i]) - expected, bound) << gates.values[i];
    if (gates.values[i] < -88.7F) continue;  // e^x is above the largest float, and the result zero
    ASSERT_LE(expected - static_cast<double>(found.values[i]), bound) << gates.values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(All, Isa, ::testing::Values("scalar", "avx2", "avx512"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tercet
