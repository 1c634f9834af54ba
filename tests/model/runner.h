#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/model.h"

namespace tercet {

/// Where the larger test models lie (the environment variable TERCET_TEST_DATA); empty if it is not set.
std::string test_data();

/// A checkpoint's model on one backend with room for a few sequences, for tests: sequence s owns slot s and
/// its own pages.
class Runner {
 public:
  Runner(Backend& backend, const WeightSource& source, int64_t sequences = 1, int64_t context = 1024);

  struct Part {
    int64_t sequence;
    std::vector<int32_t> tokens;
  };

  /// Runs one step; logits of every row, [rows, vocab].
  std::vector<float> step(const std::vector<Part>& parts, Observer* observer = nullptr);
  /// One sequence from its start in chunks of `chunk` tokens; logits of every position.
  std::vector<float> run(const std::vector<int32_t>& tokens, int64_t chunk, int64_t sequence = 0);
  /// The draft head over one sequence from its start: tokens i + 1 with `hidden` [n, hidden] of positions i;
  /// logits of every row.
  std::vector<float> run_mtp(const std::vector<int32_t>& tokens, const std::vector<float>& hidden);
  /// Greedy continuation after `prompt`, at most `limit` tokens, `stop` included.
  std::vector<int32_t> greedy(const std::vector<int32_t>& prompt, int64_t limit, int32_t stop);

  Model& model() { return model_; }
  void restart(int64_t sequence) { position_[static_cast<size_t>(sequence)] = 0; }

 private:
  Step make_step(const std::vector<Part>& parts);
  std::vector<float> download(const TensorView& view);

  Backend& backend_;
  int64_t pages_per_sequence_;
  Model model_;
  std::unique_ptr<State> state_;
  std::vector<int64_t> position_;
};

/// The index of the largest of `count` floats, the lower on ties.
int32_t argmax(const float* logits, int64_t count);

}  // namespace tercet
