#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quant/input_sums.h"
#include "quant/options.h"
#include "quant/window_runner.h"

namespace tercet {

/// How the tokens of one subject enter its sums.
struct TokenWeights {
  int64_t samples = 0;   // tokens that are the subject's own
  float own = 0;         // weight of each of them, 1 / the sum of all weights
  float other = 0;       // weight of each other token of the layer; 0 unless there are too few own ones
  std::string shortage;  // why there are too few all the same; empty if there are not
};

/// `samples` of `tokens` are the subject's; with fewer than the threshold the others fill it up, each at the
/// same low weight.
TokenWeights weigh_tokens(int64_t samples, int64_t tokens, const FallbackThreshold& threshold);

/// gate and up of the subject in one of the two models.
struct GateUp {
  Weight gate;
  Weight up;
};

/// An expert (or the shared expert, or a dense MLP: expert -1, all tokens) whose inputs are summed: those of
/// gate and up, or, with weights given, those of down.
struct FfnSubject {
  int64_t expert = -1;
  TokenWeights weights;
  InputSums sums;
  std::optional<GateUp> plain;
  std::optional<GateUp> quantized;
};

/// Sums the inputs of a layer's feed-forward matrices over all tokens. The streams hold the hidden states
/// behind the mixer.
class FfnStatistics {
 public:
  /// `cross`: x is read too. `gain` is the norm before the feed-forward.
  FfnStatistics(WindowRunner& runner, const Stream& plain, const Stream& quantized, const Constant& gain,
                bool cross);

  /// Finds each token's experts in the quantized model; returns the tokens of each expert.
  std::vector<int64_t> route(const Weight& router);
  /// One pass over all tokens.
  void collect(std::vector<FfnSubject>& subjects);

 private:
  TensorView normed(const Stream& stream, const Chunk& chunk, const TensorView& out);
  void collect_chunk(FfnSubject& subject, const Chunk& chunk);
  /// Rows `rows` of the chunk (all of them if empty) into the subject's sums.
  void add(FfnSubject& subject, const std::vector<int32_t>& rows, int64_t count, float scale);
  TensorView inner(const std::optional<GateUp>& weights, const TensorView& x, const TensorView& out);
  std::vector<int32_t> rows_of_expert(int64_t expert, const Chunk& chunk, bool routed) const;

  WindowRunner& runner_;
  const Stream& plain_;
  const Stream& quantized_;
  const Constant& gain_;
  bool cross_;
  int64_t width_;
  std::vector<int32_t> routing_;  // [tokens, top_k]
  Buffer buffer_;
  TensorView x_, x_rows_, quantized_rows_, index_, gate_, up_, act_, quantized_act_;
};

}  // namespace tercet
