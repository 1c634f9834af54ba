#include "model/runner.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tercet {
namespace {

constexpr int64_t kRows = 640;

}  // namespace

std::string test_data() {
  const char* folder = std::getenv("TERCET_TEST_DATA");
  return folder == nullptr ? "" : folder;
}

int32_t argmax(const float* logits, int64_t count) {
  return static_cast<int32_t>(std::max_element(logits, logits + count) - logits);
}

Runner::Runner(Backend& backend, const WeightSource& source, int64_t sequences, int64_t context)
    : backend_(backend),
      pages_per_sequence_((context + kPageSize - 1) / kPageSize),
      model_(backend, source.config(), bind_weights(backend, source, true),
             {kRows, sequences, context, kRows}),
      state_(backend.create_state(state_shape(source.config(), true), sequences * pages_per_sequence_,
                                  sequences)),
      position_(static_cast<size_t>(sequences)) {}

Step Runner::make_step(const std::vector<Part>& parts) {
  Step step;
  for (const Part& part : parts) {
    const int64_t rows = static_cast<int64_t>(part.tokens.size());
    int64_t& position = position_[static_cast<size_t>(part.sequence)];
    step.sequences.push_back(
        {step.rows(), rows, position, part.sequence, static_cast<int64_t>(step.pages.size())});
    for (int64_t page = 0; page < pages_per_sequence_; ++page) {
      step.pages.push_back(static_cast<int32_t>(part.sequence * pages_per_sequence_ + page));
    }
    step.tokens.insert(step.tokens.end(), part.tokens.begin(), part.tokens.end());
    position += rows;
  }
  step.logit_rows.resize(step.tokens.size());
  std::iota(step.logit_rows.begin(), step.logit_rows.end(), 0);
  return step;
}

std::vector<float> Runner::download(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.count()));
  backend_.download(values.data(), view.data, view.bytes());
  return values;
}

std::vector<float> Runner::step(const std::vector<Part>& parts, Observer* observer) {
  return download(model_.forward(make_step(parts), *state_, observer));
}

std::vector<float> Runner::run(const std::vector<int32_t>& tokens, int64_t chunk, int64_t sequence) {
  restart(sequence);
  std::vector<float> all;
  for (size_t begin = 0; begin < tokens.size(); begin += static_cast<size_t>(chunk)) {
    const size_t end = std::min(tokens.size(), begin + static_cast<size_t>(chunk));
    const std::vector<float> part =
        step({{sequence,
               {tokens.begin() + static_cast<int64_t>(begin), tokens.begin() + static_cast<int64_t>(end)}}});
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<float> Runner::run_mtp(const std::vector<int32_t>& tokens, const std::vector<float>& hidden) {
  restart(0);
  const int64_t rows = static_cast<int64_t>(tokens.size());
  const Constant values = make_constant(backend_, hidden, rows, static_cast<int64_t>(hidden.size()) / rows);
  return download(model_.forward_mtp(make_step({{0, tokens}}), values.view, *state_));
}

std::vector<int32_t> Runner::greedy(const std::vector<int32_t>& prompt, int64_t limit, int32_t stop) {
  restart(0);
  const int64_t vocab = model_.config().vocab_size;
  std::vector<int32_t> made;
  std::vector<int32_t> next = prompt;
  while (static_cast<int64_t>(made.size()) < limit) {
    const std::vector<float> logits = step({{0, next}});
    made.push_back(argmax(logits.data() + static_cast<int64_t>(logits.size()) - vocab, vocab));
    if (made.back() == stop) break;
    next = {made.back()};
  }
  return made;
}

}  // namespace tercet
