#include "runtime/sequence.h"

#include <utility>

#include "base/check.h"

namespace tercet {

SequenceState::SequenceState(StatePool& pool) : pool_(&pool), slot_(pool.acquire_slot()) {}

SequenceState::~SequenceState() {
  release();
}

SequenceState::SequenceState(SequenceState&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      slot_(other.slot_),
      length_(other.length_),
      pages_(std::move(other.pages_)) {}

SequenceState& SequenceState::operator=(SequenceState&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  slot_ = other.slot_;
  length_ = other.length_;
  pages_ = std::move(other.pages_);
  return *this;
}

void SequenceState::release() {
  if (pool_ == nullptr) return;
  for (const int32_t page : pages_) pool_->release_page(page);
  pool_->release_slot(slot_);
  pool_ = nullptr;
}

SequenceState SequenceState::fork() const {
  SequenceState copy(*pool_);
  copy.length_ = length_;
  const int64_t whole = length_ / kPageSize;
  for (int64_t i = 0; i < static_cast<int64_t>(pages_.size()); ++i) {
    const int32_t page = pages_[static_cast<size_t>(i)];
    if (i < whole) {
      pool_->share_page(page);
      copy.pages_.push_back(page);
    } else {
      copy.pages_.push_back(pool_->acquire_page());
      pool_->backend().copy_page(pool_->state(), page, copy.pages_.back());
    }
  }
  pool_->backend().copy_slot(pool_->state(), slot_, copy.slot_);
  return copy;
}

void SequenceState::append_to(Step& step, std::span<const int32_t> tokens, LogitRows logits) {
  const int64_t rows = static_cast<int64_t>(tokens.size());
  TERCET_CHECK_LT(0, rows);
  while (static_cast<int64_t>(pages_.size()) < pages_for(length_ + rows))
    pages_.push_back(pool_->acquire_page());
  for (int64_t page = length_ / kPageSize; page < static_cast<int64_t>(pages_.size()); ++page) {
    TERCET_CHECK(pool_->is_exclusive(pages_[static_cast<size_t>(page)]));
  }
  const int64_t first_row = step.rows();
  step.sequences.push_back({first_row, rows, length_, slot_, static_cast<int64_t>(step.pages.size())});
  step.tokens.insert(step.tokens.end(), tokens.begin(), tokens.end());
  step.pages.insert(step.pages.end(), pages_.begin(), pages_.end());
  const int64_t wanted = logits == LogitRows::kAll ? rows : logits == LogitRows::kLast ? 1 : 0;
  for (int64_t row = rows - wanted; row < rows; ++row) {
    step.logit_rows.push_back(static_cast<int32_t>(first_row + row));
  }
  length_ += rows;
}

}  // namespace tercet
