#include "runtime/generator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace tercet {

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "";
}

namespace {

/// Pages that a request may still take once `length` positions have theirs.
int64_t pages_ahead(const Request& request, int64_t length) {
  const int64_t positions = static_cast<int64_t>(request.prompt.size()) + request.max_tokens;
  return pages_for(positions) - pages_for(length);
}

}  // namespace

/// A request that is being answered.
struct Generator::Active {
  size_t index;     // of the request
  Request request;  // its state moved out
  SequenceState state;
  std::vector<int32_t> made{};
  std::optional<FinishReason> finished{};

  /// The tokens that the state has not seen: the rest of the prompt, or the token made last.
  std::span<const int32_t> pending() const {
    const size_t seen = static_cast<size_t>(state.length());
    if (seen < request.prompt.size()) return std::span(request.prompt).subspan(seen);
    return std::span(made).last(1);
  }

  int64_t pages_ahead() const { return tercet::pages_ahead(request, state.length()); }

  void take(int32_t token) {
    made.push_back(token);
    const bool stop_id =
        std::find(request.stop_ids.begin(), request.stop_ids.end(), token) != request.stop_ids.end();
    const bool go_on = !request.on_token || request.on_token(token);
    if (stop_id || !go_on) {
      finished = FinishReason::kStop;
    } else if (static_cast<int64_t>(made.size()) >= request.max_tokens) {
      finished = FinishReason::kLength;
    }
  }
};

Generator::Generator(Model& model, StatePool& pool, const StepSize& size, int64_t real_vocab)
    : model_(model), pool_(pool), size_(size), real_vocab_(real_vocab) {
  TERCET_CHECK_LE(size.sequences, size.rows);
  TERCET_CHECK_LE(size.sequences, size.logit_rows);
  tokens_ = model.backend().allocate(size.sequences * static_cast<int64_t>(sizeof(int32_t)));
}

bool Generator::prefill(SequenceState& state, std::span<const int32_t> tokens,
                        const std::atomic<bool>* cancel) {
  while (!tokens.empty()) {
    if (cancel != nullptr && cancel->load()) return false;
    const size_t rows = std::min(tokens.size(), static_cast<size_t>(size_.rows));
    Step step;
    state.append_to(step, tokens.first(rows), LogitRows::kNone);
    model_.forward(step, pool_.state());
    tokens = tokens.subspan(rows);
  }
  return true;
}

Generator::Active Generator::start(Request& request, size_t index) {
  TERCET_CHECK_LT(0, static_cast<int64_t>(request.prompt.size()));
  TERCET_CHECK_LT(0, request.max_tokens);
  TERCET_CHECK_LE(static_cast<int64_t>(request.prompt.size()) + request.max_tokens, size_.context);
  SequenceState state = request.state ? std::move(*request.state) : SequenceState(pool_);
  request.state.reset();
  TERCET_CHECK_LT(state.length(), static_cast<int64_t>(request.prompt.size()));
  return {index, std::move(request), std::move(state)};
}

void Generator::admit(std::vector<Request>& requests, size_t& next, std::vector<Active>& active) {
  int64_t promised = 0;
  for (const Active& sequence : active) promised += sequence.pages_ahead();
  for (; next < requests.size() && static_cast<int64_t>(active.size()) < size_.sequences; ++next) {
    Request& request = requests[next];
    const int64_t held = request.state ? request.state->length() : 0;
    const int64_t pages = pages_ahead(request, held);
    const bool fits = promised + pages <= pool_.free_pages() && (request.state || pool_.free_slots() > 0);
    TERCET_CHECK(fits || !active.empty());
    if (!fits) return;
    promised += pages;
    active.push_back(start(request, next));
  }
}

std::vector<Generator::Active*> Generator::describe_step(std::vector<Active>& active, Step& step) const {
  std::vector<Active*> drawing;
  // Decoding sequences first: their rows are few, and no prompt may starve them.
  for (const bool decoding : {true, false}) {
    for (Active& sequence : active) {
      if (sequence.made.empty() == decoding) continue;
      std::span<const int32_t> tokens = sequence.pending();
      const int64_t left = size_.rows - step.rows();
      if (left == 0) return drawing;
      const bool whole = static_cast<int64_t>(tokens.size()) <= left;
      if (!whole) tokens = tokens.first(static_cast<size_t>(left));
      sequence.state.append_to(step, tokens, whole ? LogitRows::kLast : LogitRows::kNone);
      if (whole) drawing.push_back(&sequence);
    }
  }
  return drawing;
}

std::vector<int32_t> Generator::sample(const std::vector<Active*>& drawing, const TensorView& logits) {
  const int64_t rows = static_cast<int64_t>(drawing.size());
  SamplingBatch batch;
  batch.real_vocab = real_vocab_;
  for (const Active* sequence : drawing) {
    const uint64_t position = sequence->request.prompt.size() + sequence->made.size();
    batch.rows.push_back({sequence->request.sampling, position, sequence->request.prompt, sequence->made});
  }
  const TensorView token = {tokens_.get(), DType::kI32, rows, 1};
  model_.backend().sample(logits, batch, token);
  std::vector<int32_t> drawn(drawing.size());
  model_.backend().download(drawn.data(), token.data, token.bytes());
  check_drawn(drawn);
  return drawn;
}

std::vector<Reply> Generator::run(std::vector<Request> requests, const std::atomic<bool>* cancel,
                                  const std::function<void(int64_t)>& on_finish) {
  std::vector<Reply> replies(requests.size());
  std::vector<Active> active;
  size_t next = 0;
  int64_t finished = 0;
  const auto finish = [&](Active& sequence) {
    Reply& reply = replies[sequence.index];
    reply.tokens = std::move(sequence.made);
    reply.reason = *sequence.finished;
    if (sequence.request.keep_state) reply.state = std::move(sequence.state);
    if (on_finish) on_finish(++finished);
  };
  while (next < requests.size() || !active.empty()) {
    if (cancel != nullptr && cancel->load()) break;
    admit(requests, next, active);
    Step step;
    const std::vector<Active*> drawing = describe_step(active, step);
    const TensorView logits = model_.forward(step, pool_.state());
    if (drawing.empty()) continue;
    const std::vector<int32_t> drawn = sample(drawing, logits);
    for (size_t i = 0; i < drawing.size(); ++i) drawing[i]->take(drawn[i]);
    for (Active& sequence : active) {
      if (sequence.finished) finish(sequence);
    }
    std::erase_if(active, [](const Active& sequence) { return sequence.finished.has_value(); });
  }
  for (Active& sequence : active) {
    sequence.finished = FinishReason::kCancelled;
    finish(sequence);
  }
  for (; next < requests.size(); ++next) replies[next].reason = FinishReason::kCancelled;
  return replies;
}

}  // namespace tercet
