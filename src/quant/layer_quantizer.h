#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "quant/ffn_statistics.h"
#include "quant/group_solver.h"
#include "quant/input_sums.h"
#include "quant/mixed_source.h"
#include "quant/window_runner.h"

namespace tercet {

/// Quantizes a model layer after layer, with the hidden states of the calibration windows in the BF16 model
/// (x) and in the model quantized so far (x'). Without windows every matrix is rounded by itself.
class LayerQuantizer {
 public:
  /// `windows` may be empty; all references must outlive the quantizer.
  LayerQuantizer(Backend& backend, const WeightSource& source, const QuantizeOptions& options,
                 const std::vector<std::vector<int32_t>>& windows);

  /// What came of a layer, or of the head.
  struct Part {
    std::vector<MatrixResult> results;  // in the order of the plan
    std::vector<int64_t>
        expert_tokens;  // tokens that the quantized model routes to each expert; empty without any
  };

  /// Quantizes one layer and takes both streams through it. The matrices stay in `mixed()` until `forget`.
  Part layer(int64_t layer, const std::vector<MatrixPlan>& plan);
  /// Takes the streams through a layer whose quantized matrices were put into `mixed()`.
  void skip(int64_t layer);
  Part head(const std::vector<MatrixPlan>& plan);

  MixedSource& mixed() { return mixed_; }
  void forget();

 private:
  static constexpr int kPlain = 0;
  static constexpr int kQuantized = 1;

  bool calibrated() const { return runner_.has_value(); }
  bool cross() const { return options_.corrected_target; }
  Constant norm(const std::string& tensor) const;
  SolveGroup group(std::vector<MatrixPlan> matrices, const InputSums* sums, int64_t samples) const;
  void solve(const std::vector<SolveGroup>& groups, Part& part);

  void normed_inputs(std::vector<MatrixPlan> matrices, const Constant& gain, Part& part);
  void mixer_outputs(int64_t layer, std::vector<MatrixPlan> matrices, Part& part);
  void advance_mixers(int64_t layer);
  void advance_ffns(int64_t layer);
  FfnSubject subject(const LinearModule& linear, const Part& part) const;
  void feed_forward(std::optional<FfnStatistics>& statistics, const std::vector<MatrixPlan>& matrices,
                    Part& part);

  Backend& backend_;
  const WeightSource& source_;
  const QuantizeOptions& options_;
  MixedSource mixed_;
  ThreadPool pool_;
  std::optional<WindowRunner> runner_;
  Stream streams_[WindowRunner::kLanes];
  std::optional<LayerWeights> plain_;  // of the layer in work
};

}  // namespace tercet
