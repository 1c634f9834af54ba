#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/step.h"
#include "runtime/state_pool.h"

namespace tercet {

/// Pages that `positions` positions take.
inline int64_t pages_for(int64_t positions) {
  return (positions + kPageSize - 1) / kPageSize;
}

/// Which rows of a sequence want logits in a step.
enum class LogitRows { kNone, kLast, kAll };

/// The state of one sequence after its first length() tokens: a page table and a recurrent slot. It cannot be
/// rewound; a snapshot is a fork that is kept. Movable; gives its pages and slot back when it dies, before
/// its pool.
class SequenceState {
 public:
  /// The empty sequence.
  explicit SequenceState(StatePool& pool);
  ~SequenceState();
  SequenceState(SequenceState&& other) noexcept;
  SequenceState& operator=(SequenceState&& other) noexcept;
  SequenceState(const SequenceState&) = delete;
  SequenceState& operator=(const SequenceState&) = delete;

  /// Positions whose state this is.
  int64_t length() const { return length_; }

  /// A second sequence in the same state. Whole pages are shared; the partly filled one and the slot are
  /// copied.
  SequenceState fork() const;

  /// Appends a span that continues this sequence by `tokens` (at least one) to `step`. The tokens count as
  /// computed from here on: the step must run before the sequence is forked or continued.
  void append_to(Step& step, std::span<const int32_t> tokens, LogitRows logits);

 private:
  void release();

  StatePool* pool_;  // null once moved from
  int64_t slot_;
  int64_t length_ = 0;
  std::vector<int32_t> pages_;  // [pages_for(length_)]
};

}  // namespace tercet
