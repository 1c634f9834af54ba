#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tercet {

/// How one token is chosen. Order: repetition and presence penalties, temperature, top_k, min_p, top_p, draw.
struct SamplingParams {
  float temperature = 1.0F;  // 0: the largest logit, ties to the lower id
  int64_t top_k = 0;         // 0: all
  float top_p = 1.0F;
  float min_p = 0.0F;             // of the largest probability
  float presence_penalty = 0.0F;  // subtracted from logits of tokens already made
  float repetition_penalty =
      1.0F;  // logits of seen tokens are divided (positive) or multiplied (negative) by it
  uint64_t seed = 0;
};

/// One row's request.
struct SamplingRow {
  SamplingParams params;
  uint64_t counter =
      0;  // the position of the token that is drawn: the random number is a function of (seed, counter)
  std::span<const int32_t> prompt;     // tokens that only the repetition penalty looks at
  std::span<const int32_t> generated;  // tokens that both penalties look at
};

/// The rows of one sample call, and how many ids of each row of logits are real (the rest is padding of the
/// vocabulary).
struct SamplingBatch {
  std::vector<SamplingRow> rows;
  int64_t real_vocab = 0;  // ids at or above it are never drawn; 0: all are real
};

/// A uniform number in [0, 1) from (seed, counter): the same on every machine, backend and batch.
double uniform(uint64_t seed, uint64_t counter);

/// What drawing from a row of logits needs; kept from row to row, it grows to its largest use and stays.
struct SamplingScratch {
  std::vector<float> logits;
  std::vector<int32_t> ids;
  std::vector<double> weights;

  void reserve(int64_t vocab) {
    logits.reserve(static_cast<size_t>(vocab));
    ids.reserve(static_cast<size_t>(vocab));
    weights.reserve(static_cast<size_t>(vocab));
  }
};

/// Throws Error(kCheckpoint) if one of the drawn ids is -1: a row of logits without a finite value.
void check_drawn(std::span<const int32_t> ids);

/// The rule itself, on one row of `logits` [vocab] in host memory; `scratch` is overwritten. Every backend
/// must agree with it. A NaN among the logits is never chosen; a row without a finite logit gives -1.
int32_t sample_row(std::span<const float> logits, const SamplingRow& row, int64_t real_vocab,
                   SamplingScratch& scratch);

}  // namespace tercet
