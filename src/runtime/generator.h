#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/model.h"
#include "runtime/sequence.h"

namespace tercet {

enum class FinishReason { kStop, kLength, kCancelled };

/// The contract's name: "stop", "length", "cancelled".
const char* to_string(FinishReason reason);

/// One prompt to continue.
struct Request {
  std::vector<int32_t> prompt;         // at least one token
  std::optional<SequenceState> state;  // of the first state->length() < prompt.size() tokens; none: cold
  SamplingParams sampling;
  int64_t max_tokens = 0;  // at least one
  std::vector<int32_t> stop_ids;
  std::function<bool(int32_t)> on_token;  // sees each token when it is made; false ends the reply as kStop
  bool keep_state = false;                // the reply carries the sequence's state
};

struct Reply {
  std::vector<int32_t> tokens;  // those made, the stop id included
  FinishReason reason = FinishReason::kLength;
  std::optional<SequenceState> state;  // of the prompt and all tokens but the last, where asked for
};

/// Continues prompts in ragged batches: decoding sequences give a row each to a step, prompts fill the rest
/// of it, and the next request takes a finished one's place. A reply depends on its own request alone, to the
/// bit. One caller, one run at a time; model and pool must outlive it. Throws Error(kCheckpoint) where a row
/// of logits holds no finite value.
class Generator {
 public:
  /// `size` is what the model was planned for; ids from `real_vocab` on are never drawn (0: all are real).
  Generator(Model& model, StatePool& pool, const StepSize& size, int64_t real_vocab);

  /// Continues `state` by `tokens`, in steps as large as planned, without logits. `cancel` (may be null) is
  /// looked at between steps; false if it ended the work, and `state` then holds a part of the tokens.
  bool prefill(SequenceState& state, std::span<const int32_t> tokens,
               const std::atomic<bool>* cancel = nullptr);

  /// Replies in the order of the requests. `cancel` (may be null) is looked at between steps: what is running
  /// and waiting then ends as kCancelled. `on_finish` (may be empty) is called with the number of finished
  /// requests.
  std::vector<Reply> run(std::vector<Request> requests, const std::atomic<bool>* cancel = nullptr,
                         const std::function<void(int64_t)>& on_finish = {});

 private:
  struct Active;

  /// Starts waiting requests from `next` on while a place, a slot and all pages they may come to need are
  /// free.
  void admit(std::vector<Request>& requests, size_t& next, std::vector<Active>& active);
  Active start(Request& request, size_t index);
  /// Fills a step from `active`; those that will draw a token are its logit rows, in order.
  std::vector<Active*> describe_step(std::vector<Active>& active, Step& step) const;
  /// Draws a token for each row of logits.
  std::vector<int32_t> sample(const std::vector<Active*>& drawing, const TensorView& logits);

  Model& model_;
  StatePool& pool_;
  StepSize size_;
  int64_t real_vocab_;
  Buffer tokens_;  // I32 [sequences]
};

}  // namespace tercet
