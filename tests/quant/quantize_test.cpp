#include "quant/quantize.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/simd/simd.h"
#include "base/error.h"
#include "base/random.h"
#include "quant/group_solver.h"
#include "quant/solver.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNano = TERCET_SOURCE_DIR "/models/nano";
/// Leaves two of the experts: a run of seconds that still has all kinds of matrices.
constexpr const char* kFewExperts = R"({"-:.*experts\\.([2-9]|1[0-9])\\.": {}})";

class QuantizeTest : public ::testing::Test {
 protected:
  QuantizeTest() {
    folder_ =
        fs::path(::testing::TempDir()) / ("quantize_" + std::to_string(::getpid()) + "_" +
                                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    SplitMix64 random(1);
    for (auto* windows : {&data_.windows, &data_.audit_windows}) {
      windows->resize(windows == &data_.windows ? 3 : 1);
      for (auto& window : *windows) {
        for (int i = 0; i < 96; ++i) window.push_back(static_cast<int32_t>(random.below(8000)));
      }
    }
    options_.recipe = kFewExperts;
    options_.threads = 2;
    source_ = Checkpoint::open(kNano);
  }
  ~QuantizeTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  QuantizeReport run(const std::string& name, const QuantizeCallback& progress = {}) {
    const auto backend = open_simd_backend({.threads = options_.threads, .exact = true, .device = 0});
    return quantize(*backend, *source_, path(name), options_, data_, progress);
  }
  /// Rounding alone, without calibration.
  QuantizeReport run_rtn(const std::string& name) {
    options_.method = QuantizeMethod::kRtn;
    data_ = {};
    return run(name);
  }

  std::string refusal(const std::string& name) {
    try {
      run(name);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "";
  }

  fs::path folder_;
  QuantizeOptions options_;
  CalibrationData data_;
  std::unique_ptr<Checkpoint> source_;
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Fields of the lines of a CSV file without quotes.
std::vector<std::vector<std::string>> read_log(const std::string& folder) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read(folder + "/quant_log.csv"));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) c == ',' ? void(fields.emplace_back()) : void(fields.back() += c);
    rows.push_back(fields);
  }
  return rows;
}

void expect_equal_folders(const std::string& a, const std::string& b) {
  int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(a)) {
    const std::string name = entry.path().filename();
    ++files;
    if (name != "quant_log.csv") {
      EXPECT_EQ(read(entry.path()), read(fs::path(b) / name)) << name;
      continue;
    }
    auto first = read_log(a), second = read_log(b);
    for (auto* rows : {&first, &second}) {
      for (auto& row : *rows) row.at(5) = "time";
    }
    EXPECT_EQ(first, second);
  }
  EXPECT_EQ(files, std::distance(fs::directory_iterator(b), {}));
}

TEST_F(QuantizeTest, CodesReadBackAsTheyWereSolved) {
  const std::vector<std::pair<int, bool>> kinds = {{2, true}, {3, false}, {4, true}, {8, false}};
  for (const auto& [bits, symmetric] : kinds) {
    options_.bits = bits;
    options_.symmetric = symmetric;
    options_.group_size = bits == 8 ? -1 : 32;
    options_.gptq_v1 = bits < 4;
    options_.all_linears = bits == 3;
    const std::string name = "rtn" + std::to_string(bits);
    const QuantizeReport report = run_rtn(name);
    EXPECT_EQ(report.method, "rtn");
    const auto written = Checkpoint::open(path(name));
    EXPECT_EQ(written->quantization()->method, "rtn");
    for (const std::string module : {"layers.0.linear_attn.in_proj_qkv", "layers.3.self_attn.o_proj",
                                     "layers.2.mlp.experts.1.up_proj"}) {
      const CanonicalMatrix weights = source_->matrix(module);
      const int64_t rows = rows_of(weights), cols = cols_of(weights);
      std::vector<float> values(static_cast<size_t>(rows * cols));
      for (int64_t r = 0; r < rows; ++r) row_to_floats(weights, r, values.data() + r * cols);
      SolveSettings settings;
      settings.feedback = settings.scale_search = false;
      settings.kind = {bits, symmetric};
      settings.group_size = bits == 8 ? cols : 32;
      const SolvedRows solved = RowSolver(nullptr, cols, settings).solve(values, rows);
      const auto matrix = std::get<QuantizedMatrix>(written->matrix(module));
      EXPECT_EQ(matrix.codes, solved.codes) << module;
      for (size_t i = 0; i < solved.grids.size(); ++i) {
        ASSERT_EQ(matrix.scales[i], solved.grids[i].scale);
        if (!symmetric) {
          ASSERT_EQ(matrix.zeros[i], solved.grids[i].zero);
        }
      }
    }
    EXPECT_EQ(std::holds_alternative<QuantizedMatrix>(written->matrix("lm_head")), bits == 3);
  }
}

TEST_F(QuantizeTest, WhatIsKeptIsKeptBitForBit) {
  run_rtn("out");
  const auto written = Checkpoint::open(path("out"));
  int64_t kept = 0;
  for (const FoundTensor& found : source_->inventory()) {
    for (const StoredTensor* stored : found.stored) {
      const StoredTensor* copy = written->tensors().find(stored->name);
      if (copy == nullptr) {
        EXPECT_TRUE(found.spec->kind == TensorKind::kLinear || found.spec->kind == TensorKind::kExperts)
            << stored->name;
        EXPECT_NE(found.spec->component, "mtp") << stored->name;
        continue;
      }
      ++kept;
      EXPECT_EQ(copy->dtype, stored->dtype);
      EXPECT_EQ(copy->shape, stored->shape);
      EXPECT_EQ(std::memcmp(copy->data, stored->data, static_cast<size_t>(stored->bytes)), 0) << stored->name;
    }
  }
  EXPECT_GT(kept, 50);
  // An expert that the recipe keeps, of a fused tensor of which others are quantized.
  const auto kept_expert = std::get<DenseMatrix>(written->matrix("layers.1.mlp.experts.9.up_proj"));
  const auto original = std::get<DenseMatrix>(source_->matrix("layers.1.mlp.experts.9.up_proj"));
  EXPECT_EQ(
      std::memcmp(kept_expert.data, original.data, static_cast<size_t>(original.rows * original.cols * 2)),
      0);
}

TEST_F(QuantizeTest, LogIsAlignedAndNoLossIsAboveRtn) {
  options_.bits = 3;
  options_.all_linears = true;
  const QuantizeReport report = run("out");
  const auto rows = read_log(path("out"));
  ASSERT_EQ(static_cast<int64_t>(rows.size()), report.matrices + 1);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"layer", "module", "loss", "samples", "damp", "time", "method",
                                               "fallback_reason"}));
  for (size_t i = 1; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), 8U);
    EXPECT_TRUE(std::isfinite(std::stod(rows[i][2])));
    EXPECT_EQ(rows[i][6], "gptq");
  }
  EXPECT_EQ(rows.back()[0], "4");
  EXPECT_EQ(rows.back()[1], "lm_head");
  const auto audit = nlohmann::json::parse(read(path("out") + "/quant_audit.json"));
  ASSERT_EQ(audit["matrices"].size(), rows.size() - 1);
  for (const auto& matrix : audit["matrices"])
    EXPECT_LE(matrix["loss"], matrix["rtn_loss"]) << matrix["name"];
  for (const auto& tokens : audit["expert_tokens"]) {
    int64_t sum = 0;
    for (const auto& count : tokens) sum += count.get<int64_t>();
    EXPECT_EQ(sum, 3 * 96 * 4);
  }
  EXPECT_GT(report.kl, 0);
  EXPECT_LT(report.bits_per_weight, 16);
  EXPECT_NEAR(report.quantized_bits_per_weight, 3 + 16.0 / 128 + 3.0 / 128, 0.02);
}

/// An end after any part, then a run with another number of threads: the same bytes.
TEST_F(QuantizeTest, InterruptedAndResumedGivesTheSameBytes) {
  options_.recipe = R"({"-:.*experts\\.([2-9]|1[0-9])\\.": {}, "lm_head": {"method": "rtn"}})";
  run("whole");
  struct Stop {};
  for (const int64_t last : {1, 3, 6}) {
    options_.threads = 1;
    const std::string name = "cut" + std::to_string(last);
    EXPECT_THROW(run(name,
                     [&](const QuantizeProgress& progress) {
                       if (progress.done == last) throw Stop();
                     }),
                 Stop);
    EXPECT_FALSE(fs::exists(path(name)));
    options_.threads = 2;
    options_.resume = true;
    run(name);
    options_.resume = false;
    expect_equal_folders(path("whole"), path(name));
    EXPECT_FALSE(fs::exists(path(name) + ".staging"));
  }
}

/// A file that is not whole, and what a killed process was writing.
TEST_F(QuantizeTest, ADamagedPartIsMadeAnew) {
  options_.method = QuantizeMethod::kRtn;
  data_ = {};
  run("whole");
  struct Stop {};
  EXPECT_THROW(run("cut",
                   [](const QuantizeProgress& progress) {
                     if (progress.done == 3) throw Stop();
                   }),
               Stop);
  std::ofstream(path("cut.staging/output/model-00003-of-00005.safetensors.1.tmp")) << "cut short";
  fs::resize_file(path("cut.staging/output/model-00002-of-00005.safetensors"), 1000);
  options_.resume = true;
  run("cut");
  expect_equal_folders(path("whole"), path("cut"));
}

TEST_F(QuantizeTest, AResumedRunMustBeTheSame) {
  options_.method = QuantizeMethod::kRtn;
  data_ = {};
  struct Stop {};
  EXPECT_THROW(run("out", [](const QuantizeProgress&) { throw Stop(); }), Stop);
  EXPECT_NE(refusal("out").find("--resume"), std::string::npos);
  options_.resume = true;
  options_.bits = 3;
  options_.recipe = "";
  const std::string message = refusal("out");
  EXPECT_NE(message.find("options.bits"), std::string::npos) << message;
  EXPECT_NE(message.find("recipe"), std::string::npos) << message;
  EXPECT_EQ(message.find("options.method"), std::string::npos) << message;
}

TEST_F(QuantizeTest, AnExistingDestinationIsReplacedOnlyOnRequest) {
  run_rtn("out");
  options_.bits = 8;
  EXPECT_NE(refusal("out").find("--overwrite"), std::string::npos);
  options_.overwrite = true;
  run("out");
  EXPECT_EQ(Checkpoint::open(path("out"))->quantization()->bits, 8);
  EXPECT_FALSE(fs::exists(path("out.staging")));
}

TEST_F(QuantizeTest, ResumingAFinishedRunReportsIt) {
  const QuantizeReport first = run_rtn("out");
  options_.resume = true;
  const QuantizeReport second = run("out");
  EXPECT_EQ(second.matrices, first.matrices);
  EXPECT_EQ(second.bytes, first.bytes);
}

TEST_F(QuantizeTest, TooFewTokensFallBackWithTheReason) {
  options_.fallback_threshold = parse_fallback_threshold("1000");
  const QuantizeReport report = run("out");
  EXPECT_EQ(report.fallbacks, report.matrices);
  const auto rows = read_log(path("out"));
  EXPECT_EQ(rows[1][6], "rtn");
}

TEST_F(QuantizeTest, RecipeChangesBitsGroupAndMethod) {
  options_.recipe =
      R"({"-:.*experts.*": {}, "-:.*layers\\.[12]\\.": {}, "+:.*o_proj": {"bits": 8, "group_size": 32},
                        "+:lm_head": {"bits": 2, "method": "rtn"}, "+:.*k_proj": {"method": "rtn"}})";
  run("out");
  const auto written = Checkpoint::open(path("out"));
  EXPECT_EQ(std::get<QuantizedMatrix>(written->matrix("layers.3.self_attn.o_proj")).group_size, 32);
  EXPECT_EQ(std::get<QuantizedMatrix>(written->matrix("lm_head")).bits, 2);
  EXPECT_TRUE(std::holds_alternative<DenseMatrix>(written->matrix("layers.1.linear_attn.out_proj")));
  for (const auto& row : read_log(path("out"))) {
    if (row[1] == "self_attn.k_proj") {
      EXPECT_EQ(row[6], "rtn");
    }
    if (row[1] == "self_attn.q_proj") {
      EXPECT_EQ(row[6], "gptq");
    }
  }
}

/// A GPTQ checkpoint is a source too; what a second run keeps has the same codes.
TEST_F(QuantizeTest, AQuantizedCheckpointCanBeQuantizedAgain) {
  options_.gptq_v1 = true;
  run_rtn("first");
  source_ = Checkpoint::open(path("first"));
  options_.gptq_v1 = false;
  options_.bits = 8;
  options_.recipe = R"({"-:.*layers\\.0\\.": {}, "-:.*experts\\.([2-9]|1[0-9])\\.": {}})";
  run("second");
  const auto second = Checkpoint::open(path("second"));
  const std::string kept = "layers.0.linear_attn.out_proj";
  EXPECT_EQ(std::get<QuantizedMatrix>(second->matrix(kept)).codes,
            std::get<QuantizedMatrix>(source_->matrix(kept)).codes);
  EXPECT_EQ(std::get<QuantizedMatrix>(second->matrix("layers.1.linear_attn.out_proj")).bits, 8);
}

TEST_F(QuantizeTest, DescActAndPlainTargetsRun) {
  options_.desc_act = true;
  options_.corrected_target = false;
  options_.recipe = R"({"-:.*experts.*": {}, "-:.*layers\\.[012]\\.": {}})";
  options_.group_size = 64;
  const QuantizeReport report = run("out");
  EXPECT_EQ(report.fallbacks, 0);
  const auto matrix =
      std::get<QuantizedMatrix>(Checkpoint::open(path("out"))->matrix("layers.3.self_attn.q_proj"));
  EXPECT_FALSE(matrix.group_index.empty());
  EXPECT_LT(report.kl, 0.5);
}

TEST_F(QuantizeTest, GptqWithoutCalibrationIsRefused) {
  data_ = {};
  EXPECT_NE(refusal("out").find("--calibration"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("out.staging")));
}

/// One matrix of a model that is not a number.
class BrokenSource final : public WeightSource {
 public:
  explicit BrokenSource(const Checkpoint& base) : base_(base) {}
  const ModelConfig& config() const override { return base_.config(); }
  CanonicalMatrix matrix(const std::string&) const override {
    return DenseMatrix{DType::kF32, 2, 32, reinterpret_cast<const std::byte*>(values_.data())};
  }
  std::vector<float> values(const std::string& tensor) const override { return base_.values(tensor); }

 private:
  const Checkpoint& base_;
  std::vector<float> values_ = std::vector<float>(64, NAN);
};

TEST_F(QuantizeTest, WeightsThatAreNotFiniteAreRefusedByName) {
  const BrokenSource broken(*source_);
  ThreadPool pool(2);
  SolveGroup group;
  MatrixPlan& plan = group.matrices.emplace_back();
  plan.linear.module = "layers.0.x";
  plan.disk_name = "model.layers.0.x";
  plan.settings = {QuantizeMethod::kRtn, 4, 32};
  try {
    solve_groups(broken, {group}, options_, pool);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_EQ(error.context().tensor, "model.layers.0.x");
  }
}

TEST_F(QuantizeTest, InputsThatAreNotFiniteAreRefusedByName) {
  ThreadPool pool(1);
  SolveGroup group;
  group.matrices.emplace_back().disk_name = "model.layers.0.x";
  group.statistics = [] { return InputStatistics{1, {NAN}, {}}; };
  try {
    solve_groups(*source_, {group}, options_, pool);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_EQ(error.context().tensor, "model.layers.0.x");
  }
}

}  // namespace
}  // namespace tercet
