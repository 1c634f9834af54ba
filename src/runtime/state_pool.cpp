#include "runtime/state_pool.h"

#include "base/check.h"

namespace tercet {

StatePool::StatePool(Backend& backend, const StateShape& shape, int64_t pages, int64_t slots)
    : backend_(backend),
      state_(backend.create_state(shape, pages, slots)),
      references_(static_cast<size_t>(pages)) {
  for (int64_t page = pages - 1; page >= 0; --page) free_pages_.push_back(static_cast<int32_t>(page));
  for (int64_t slot = slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

int32_t StatePool::acquire_page() {
  TERCET_CHECK_LT(0, free_pages());
  const int32_t page = free_pages_.back();
  free_pages_.pop_back();
  references_[static_cast<size_t>(page)] = 1;
  return page;
}

void StatePool::share_page(int32_t page) {
  TERCET_CHECK_LT(0, references_[static_cast<size_t>(page)]);
  ++references_[static_cast<size_t>(page)];
}

void StatePool::release_page(int32_t page) {
  TERCET_CHECK_LT(0, references_[static_cast<size_t>(page)]);
  if (--references_[static_cast<size_t>(page)] == 0) free_pages_.push_back(page);
}

int64_t StatePool::acquire_slot() {
  TERCET_CHECK_LT(0, free_slots());
  const int64_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void StatePool::release_slot(int64_t slot) {
  free_slots_.push_back(slot);
}

}  // namespace tercet
