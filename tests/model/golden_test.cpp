// Every backend against the outputs of the fp32 reference implementation that lie beside the models.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "model/runner.h"
#include "support/backends.h"
#include "support/checker.h"
#include "support/tolerance.h"

namespace tercet {
namespace {

/// A tensor of the golden file, empty if it has none of this name.
template <class T>
std::vector<T> golden(const std::string& folder, const std::string& name) {
  const SafetensorsFile file(folder + "/golden/golden.safetensors");
  const StoredTensor* tensor = file.find(name);
  if (tensor == nullptr) return {};
  std::vector<T> values(static_cast<size_t>(tensor->bytes) / sizeof(T));
  std::memcpy(values.data(), tensor->data, static_cast<size_t>(tensor->bytes));
  return values;
}

/// nano lies in the checkout, and a tiny random dense model with tied embeddings and text-only names; the
/// others in TERCET_TEST_DATA.
std::string folder_of(const std::string& model) {
  if (model == "nano") return std::string(TERCET_SOURCE_DIR) + "/models/nano";
  if (model == "dense") return std::string(TERCET_SOURCE_DIR) + "/tests/data/dense";
  return test_data().empty() ? "" : test_data() + "/models/" + model;
}

/// The variant of a model that computes the same function through outlier channels, written once a build;
/// empty if it cannot be.
std::string outlier_variant(const std::string& model) {
  const std::string folder = std::string(TERCET_BINARY_DIR) + "/outliers-" + model;
  if (std::filesystem::exists(folder + "/model.safetensors")) return folder;
  const std::string script = test_data() + "/reference/outliers.py";
  const std::string command = "python3 '" + script + "' '" + folder_of(model) + "' '" + folder + "'";
  return std::system(command.c_str()) == 0 ? folder : "";
}

/// Keeps the hidden states that the golden file has: after the embedding, after each layer but the last,
/// after the final norm.
class HiddenStates : public Observer {
 public:
  HiddenStates(Backend& backend, int64_t layers) : backend_(backend), layers_(layers) {}

  void observe(Tap tap, int64_t layer, const TensorView& value) override {
    const bool wanted =
        tap == Tap::kEmbedding || tap == Tap::kFinalNorm || (tap == Tap::kLayerOutput && layer + 1 < layers_);
    if (!wanted) return;
    states.emplace_back(static_cast<size_t>(value.count()));
    backend_.download(states.back().data(), value.data, value.bytes());
  }

  std::vector<std::vector<float>> states;

 private:
  Backend& backend_;
  int64_t layers_;
};

struct ModelCase {
  BackendCase backend;
  std::string model;
  bool outliers = false;
};

class Golden : public ::testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    folder_ = folder_of(GetParam().model);
    if (folder_.empty()) GTEST_SKIP() << "TERCET_TEST_DATA is not set: no " << GetParam().model;
    std::string weights = folder_;
    if (GetParam().outliers) {
      if (test_data().empty()) GTEST_SKIP() << "TERCET_TEST_DATA is not set: no outlier variants";
      weights = outlier_variant(GetParam().model);
      ASSERT_FALSE(weights.empty()) << "outliers.py failed: it needs python3 with numpy";
    }
    backend_ = open_backend(GetParam().backend);
    checkpoint_ = Checkpoint::open(weights);
    runner_ = std::make_unique<Runner>(*backend_, *checkpoint_);
    vocab_ = checkpoint_->config().vocab_size;
  }

  void expect_logits(std::span<const float> found, std::span<const float> expected) const {
    EXPECT_TRUE(within(found, expected, [](int64_t) { return tolerance::kGoldenLogits; }));
    for (size_t begin = 0; begin + static_cast<size_t>(vocab_) <= found.size();
         begin += static_cast<size_t>(vocab_)) {
      EXPECT_EQ(argmax(found.data() + begin, vocab_), argmax(expected.data() + begin, vocab_))
          << "row " << begin / static_cast<size_t>(vocab_);
    }
  }

  std::string folder_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Runner> runner_;
  int64_t vocab_ = 0;
};

TEST_P(Golden, LogitsAndHiddenStates) {
  const ModelConfig& config = checkpoint_->config();
  HiddenStates observer(*backend_, config.layer_count());
  const std::vector<int32_t> ids = golden<int32_t>(folder_, "ids_a");
  expect_logits(runner_->step({{0, ids}}, &observer), golden<float>(folder_, "logits_a"));
  const std::vector<float> hidden = golden<float>(folder_, "hidden_a");
  ASSERT_EQ(static_cast<int64_t>(observer.states.size()), config.layer_count() + 1);
  const size_t width = static_cast<size_t>(config.hidden_size);
  for (size_t state = 0; state < observer.states.size(); ++state) {
    for (size_t t = 0; t < ids.size(); ++t) {
      double error = 0;
      double norm = 0;
      for (size_t i = 0; i < width; ++i) {
        const double expected = static_cast<double>(hidden[(state * ids.size() + t) * width + i]);
        const double difference = static_cast<double>(observer.states[state][t * width + i]) - expected;
        error += difference * difference;
        norm += expected * expected;
      }
      EXPECT_LE(std::sqrt(error), tolerance::kGoldenHidden * std::sqrt(norm))
          << "state " << state << " position " << t;
    }
  }
}

TEST_P(Golden, LongSequence) {
  const std::vector<int32_t> ids = golden<int32_t>(folder_, "ids_b");
  if (ids.empty()) GTEST_SKIP() << "no long sequence beside " << GetParam().model;
  const std::vector<float> all = runner_->run(ids, 100);
  const std::span<const float> last(all.data() + all.size() - static_cast<size_t>(4 * vocab_),
                                    static_cast<size_t>(4 * vocab_));
  expect_logits(last, golden<float>(folder_, "logits_b_last4"));
}

TEST_P(Golden, DraftHead) {
  if (!runner_->model().has_mtp()) GTEST_SKIP() << "no draft head in " << GetParam().model;
  const std::vector<int32_t> ids = golden<int32_t>(folder_, "mtp_ids");
  const std::vector<float> hidden = golden<float>(folder_, "hidden_a");
  const size_t count = (ids.size() - 1) * static_cast<size_t>(checkpoint_->config().hidden_size);
  expect_logits(runner_->run_mtp({ids.begin() + 1, ids.end()},
                                 {hidden.end() - static_cast<int64_t>(count), hidden.end()}),
                golden<float>(folder_, "mtp_logits"));
}

TEST_P(Golden, GreedySequences) {
  std::ifstream file(folder_ + "/golden/greedy.json");
  if (!file || GetParam().outliers) GTEST_SKIP() << "greedy.json is for nano and mini as they are";
  constexpr int32_t kImEnd = 8180;
  // The scalar reference takes a minute for all of mini's: one prompt in four there, all of them everywhere
  // else.
  const size_t stride = GetParam().backend.name == "ref" && GetParam().model == "mini" ? 4 : 1;
  const nlohmann::json entries = nlohmann::json::parse(file);
  for (size_t i = 0; i < entries.size(); i += stride) {
    const nlohmann::json& entry = entries[i];
    const auto expected = entry.at("out").get<std::vector<int32_t>>();
    EXPECT_EQ(runner_->greedy(entry.at("ids").get<std::vector<int32_t>>(),
                              static_cast<int64_t>(expected.size()), kImEnd),
              expected)
        << entry.at("prompt");
  }
}

TEST_P(Golden, BitsDoNotDependOnBatchOrChunks) {
  std::vector<int32_t> ids = golden<int32_t>(folder_, "ids_b");
  if (ids.empty()) ids = golden<int32_t>(folder_, "ids_a");
  const std::vector<int32_t> prompt(ids.begin(), ids.begin() + 150);
  const std::vector<float> expected = runner_->run(prompt, 150);
  for (const int64_t chunk : {1, 3, 64})
    EXPECT_EQ(runner_->run(prompt, chunk), expected) << "chunks of " << chunk;
  Runner batch(*backend_, *checkpoint_, 7);
  std::vector<Runner::Part> parts;
  for (int64_t s = 0; s < 7; ++s) {
    const int64_t length = s == 3 ? 150 : 10 + 11 * s;
    parts.push_back(
        {s, s == 3 ? prompt : std::vector<int32_t>(ids.begin() + 5 * s, ids.begin() + 5 * s + length)});
  }
  const std::vector<float> all = batch.step(parts);
  int64_t first = 0;
  for (int64_t s = 0; s < 3; ++s) first += static_cast<int64_t>(parts[static_cast<size_t>(s)].tokens.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + first * vocab_))
      << "in a batch of 7";
}

std::vector<ModelCase> model_cases() {
  std::vector<ModelCase> cases;
  for (const BackendCase& backend : backend_cases(false)) {
    for (const char* model : {"nano", "dense", "mini"}) cases.push_back({backend, model});
    for (const char* model : {"nano", "mini"}) cases.push_back({backend, model, true});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Backends, Golden, ::testing::ValuesIn(model_cases()), [](const auto& which) {
  return case_name(which.param.backend) + "_" + which.param.model + (which.param.outliers ? "_outliers" : "");
});

}  // namespace
}  // namespace tercet
