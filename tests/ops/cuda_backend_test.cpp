#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backends/cuda/cuda.h"
#include "base/error.h"
#include "ops/host_matrix.h"

/// What is CUDA's own; the op suite holds every primitive against `ref`.
namespace tercet {
namespace {

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_device_present()) GTEST_SKIP() << "no CUDA device, or built without CUDA";
    backend_ = open_cuda_backend({});
  }
  std::unique_ptr<Backend> backend_;
};

TEST(CudaMissing, SaysWhatToDo) {
  BackendOptions options;
  options.device = 4096;  // not there, whatever is
  try {
    open_cuda_backend(options);
    FAIL() << "a device that is not there was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_NE(error.message().find("CUDA"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("--device cpu"), std::string::npos) << error.message();
  }
}

TEST_F(Cuda, SaysWhichDevice) {
  EXPECT_EQ(backend_->description().rfind("cuda (", 0), 0U);
}

TEST_F(Cuda, MemoryThatIsNotThereIsADeviceError) {
  try {
    backend_->allocate(int64_t{1} << 50);
    FAIL() << "a pebibyte was allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_NE(error.message().find("out of memory"), std::string::npos) << error.message();
  }
  EXPECT_NO_THROW(backend_->allocate(1));  // and the failure does not stick
}

/// A small GDN layer, an attention layer and an expert block, as a decoding step runs them.
class SmallModel {
 public:
  static constexpr int64_t kHidden = 32;
  static constexpr int64_t kExperts = 4;

  explicit SmallModel(Backend& backend) : backend_(backend), memory_(backend) {
    backend.plan({.rows = 80,
                  .sequences = 2,
                  .pages = 8,
                  .logit_rows = 4,
                  .widest = 64,
                  .top_k = 2,
                  .experts = kExperts,
                  .expert_width = 24,
                  .vocab = 100});
    shape_.attention_layers = 1;
    shape_.kv_heads = 2;
    shape_.head_dim = 16;
    shape_.gdn_layers = 1;
    shape_.key_heads = 2;
    shape_.value_heads = 4;
    shape_.key_dim = 8;
    shape_.value_dim = 8;
    shape_.conv_kernel = 4;
    state_ = backend.create_state(shape_, 8, 3);
    table_ = weight(100, kHidden);
    qkv_ = weight(shape_.conv_channels(), kHidden);
    gdn_out_ = weight(kHidden, 32);
    query_ = weight(4 * 2 * 16, kHidden);
    key_ = weight(32, kHidden);
    value_ = weight(32, kHidden);
    attention_out_ = weight(kHidden, 64);
    router_ = weight(kExperts, kHidden);
    gate_ = experts(24, kHidden);
    up_ = experts(24, kHidden);
    down_ = experts(kHidden, 24);
    norm_ = memory_.put(random_matrix(random_, 1, kHidden));
    head_norm_ = memory_.put(random_matrix(random_, 1, 16));
    conv_ = memory_.put(random_matrix(random_, shape_.conv_channels(), 4));
    per_head_ = memory_.put(random_matrix(random_, 1, 4));
    frequencies_ = memory_.put(random_matrix(random_, 1, 4));
    gdn_norm_ = memory_.put(random_matrix(random_, 1, 8));
  }

  State& state() { return *state_; }

  /// The buffers of a step of `rows` rows; their last one is the result.
  std::vector<TensorView> buffers(int64_t rows) {
    const int64_t channels = shape_.conv_channels();
    std::vector<TensorView> views;
    for (const int64_t cols :
         {kHidden, kHidden, channels, channels, int64_t{4}, int64_t{4}, int64_t{32}, kHidden, int64_t{128},
          int64_t{32}, int64_t{32}, int64_t{64}, int64_t{64}, int64_t{64}, kExperts}) {
      views.push_back(memory_.empty(rows, cols));
    }
    views.push_back(memory_.empty(rows, 2, DType::kI32));
    views.push_back(memory_.empty(rows, 2));
    views.push_back(memory_.empty(1, kHidden));
    return views;
  }

  void forward(const std::vector<TensorView>& b) {
    const TensorView x = b[0], normed = b[1];
    backend_.embed(backend_.tokens(), table_, x);
    backend_.rms_norm(x, norm_, 1e-6F, true, normed);
    backend_.linear(normed, qkv_, b[2]);
    backend_.conv1d_update(b[2], conv_, *state_, 0, b[3]);
    backend_.linear(normed, router_, b[4]);
    backend_.gdn_gates(b[4], b[4], per_head_, per_head_, b[5], b[14]);
    backend_.gated_delta_rule(b[3], b[5], b[14], *state_, 0, b[6]);
    backend_.gated_rms_norm(b[6], b[6], gdn_norm_, 1e-6F, b[9]);
    backend_.linear(b[9], gdn_out_, b[7]);
    backend_.add(x, b[7]);
    backend_.linear(x, query_, b[8]);
    backend_.linear(x, key_, b[9]);
    backend_.linear(x, value_, b[10]);
    backend_.qk_norm_rope(b[8], b[9], head_norm_, head_norm_, frequencies_, 1e-6F, b[11], b[12]);
    backend_.kv_append(b[9], b[10], *state_, 0);
    backend_.attention(b[11], *state_, 0, b[13]);
    backend_.sigmoid_gate(b[13], b[12]);
    backend_.linear(b[13], attention_out_, b[7]);
    backend_.add(x, b[7]);
    backend_.rms_norm(x, norm_, 1e-6F, true, normed);
    backend_.linear(normed, router_, b[14]);
    backend_.router_topk(b[14], b[15], b[16]);
    backend_.moe_ffn(normed, b[15], b[16], gate_, up_, down_, b[7]);
    backend_.add(x, b[7]);
    backend_.gather_rows(x, backend_.logit_rows(), b[17]);
  }

  std::vector<float> result(const std::vector<TensorView>& b) { return memory_.get(b.back()).values; }

 private:
  Weight weight(int64_t rows, int64_t cols) {
    return memory_.weight(dense(random_matrix(random_, rows, cols, 0.2)));
  }
  Weight experts(int64_t rows, int64_t cols) {
    return backend_.prepare(
        kExperts, [&](int64_t) { return random_quantized(random_, 4, rows, cols, 8, true, false); });
  }

  Backend& backend_;
  Exchange memory_;
  SplitMix64 random_{7};
  StateShape shape_;
  std::unique_ptr<State> state_;
  Weight table_, qkv_, gdn_out_, query_, key_, value_, attention_out_, router_, gate_, up_, down_;
  TensorView norm_, head_norm_, conv_, per_head_, frequencies_, gdn_norm_;
};

Step step_of(int64_t position, int64_t rows, int64_t slot, std::vector<int32_t> pages) {
  Step step;
  for (int64_t i = 0; i < rows; ++i) step.tokens.push_back(static_cast<int32_t>((position + i) * 37 % 100));
  step.sequences = {{0, rows, position, slot, 0}};
  step.pages = std::move(pages);
  step.logit_rows = {static_cast<int32_t>(rows - 1)};
  return step;
}

TEST_F(Cuda, AStepIsRecordedAsAGraphAndReplayed) {
  SmallModel model(*backend_);
  backend_->begin_step(step_of(0, 70, 0, {0, 1}));
  model.forward(model.buffers(70));
  backend_->copy_slot(model.state(), 0, 1);
  for (int64_t page = 0; page < 2; ++page) backend_->copy_page(model.state(), page, page + 2);

  const std::vector<TensorView> buffers = model.buffers(1);
  backend_->begin_step(step_of(70, 1, 0, {0, 1}));
  model.forward(buffers);
  const std::vector<float> eager = model.result(buffers);
  for (const float value : eager) EXPECT_TRUE(std::isfinite(value));
  // Each replay continues from the fork at position 70: a step writes its slot, so the fork is taken again.
  backend_->begin_step(step_of(70, 1, 2, {2, 3}));
  const auto fork_and_step = [&] {
    backend_->copy_slot(model.state(), 1, 2);
    model.forward(buffers);
  };
  run_as_cuda_graph(*backend_, fork_and_step, 1);
  EXPECT_EQ(eager, model.result(buffers));
  run_as_cuda_graph(*backend_, fork_and_step, 3);
  EXPECT_EQ(eager, model.result(buffers));
}

TEST_F(Cuda, WhatWaitsForTheDeviceCannotBeRecorded) {
  Exchange memory(*backend_);
  const TensorView x = memory.put(HostMatrix(1, 4));
  EXPECT_THROW(run_as_cuda_graph(
                   *backend_, [&] { memory.get(x); }, 1),
               Error);
}

/// A stack whose matrices differ in bits, zeros, groups and type multiplies as its matrices do one by one.
TEST_F(Cuda, ExpertsOfOneStackMayDiffer) {
  SplitMix64 random(11);
  const int64_t hidden = 45, width = 37, rows = 5;
  StepLimits limits;
  limits.rows = rows;
  limits.top_k = 3;
  limits.expert_width = width;
  backend_->plan(limits);
  Exchange memory(*backend_);
  const HostMatrix as_float = random_matrix(random, width, hidden, 0.3);
  const std::vector<CanonicalMatrix> gates = {random_quantized(random, 3, width, hidden, 16, true, true),
                                              dense(as_float),
                                              random_quantized(random, 7, width, hidden, -1, false, false)};
  const CanonicalMatrix up = random_quantized(random, 5, width, hidden, 32, false, false);
  const CanonicalMatrix down = random_quantized(random, 2, hidden, width, 8, true, false);
  const auto nth = [&](const CanonicalMatrix& matrix) { return [&matrix](int64_t) { return matrix; }; };
  const Weight gate_stack = backend_->prepare(3, [&](int64_t i) { return gates[static_cast<size_t>(i)]; });
  const Weight up_stack = backend_->prepare(3, nth(up));
  const Weight down_stack = backend_->prepare(3, nth(down));
  const TensorView x = memory.put(random_matrix(random, rows, hidden));
  const TensorView out = memory.empty(rows, hidden);
  std::vector<int32_t> index;
  for (int64_t i = 0; i < rows * 3; ++i) index.push_back(static_cast<int32_t>((i / 3 + i) % 3));
  const HostMatrix shares = random_matrix(random, rows, 3);
  backend_->moe_ffn(x, memory.put_indices(index, 3), memory.put(shares), gate_stack, up_stack, down_stack,
                    out);

  std::vector<HostMatrix> of_expert;
  for (const CanonicalMatrix& gate : gates) {
    const TensorView g = memory.empty(rows, width), u = memory.empty(rows, width),
                     y = memory.empty(rows, hidden);
    backend_->linear(x, memory.weight(gate), g);
    backend_->linear(x, memory.weight(up), u);
    backend_->silu_mul(g, u, g);
    backend_->linear(g, memory.weight(down), y);
    of_expert.push_back(memory.get(y));
  }
  const HostMatrix actual = memory.get(out);
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t n = 0; n < hidden; ++n) {
      float sum = 0;
      for (int64_t j = 0; j < 3; ++j) {
        const size_t expert = static_cast<size_t>(index[static_cast<size_t>(t * 3 + j)]);
        sum = std::fma(shares.row(t)[static_cast<size_t>(j)],
                       of_expert[expert].row(t)[static_cast<size_t>(n)], sum);
      }
      EXPECT_EQ(actual.row(t)[static_cast<size_t>(n)], sum);
    }
  }
}

}  // namespace
}  // namespace tercet
