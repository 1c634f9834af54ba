#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/backend.h"

namespace tercet {

/// Owns a State and says who uses its pages and slots: pages are counted by reference, slots have one owner.
/// Running out is a programmer error: who admits a sequence asks free_pages() and free_slots() first. Not
/// thread-safe.
class StatePool {
 public:
  StatePool(Backend& backend, const StateShape& shape, int64_t pages, int64_t slots);

  Backend& backend() { return backend_; }
  State& state() { return *state_; }
  int64_t free_pages() const { return static_cast<int64_t>(free_pages_.size()); }
  int64_t free_slots() const { return static_cast<int64_t>(free_slots_.size()); }

  /// A page with one reference; its content is undefined.
  int32_t acquire_page();
  void share_page(int32_t page);
  /// Gives one reference back; the last one frees the page.
  void release_page(int32_t page);
  /// Whether only one reference is left: only such a page may be written.
  bool is_exclusive(int32_t page) const { return references_[static_cast<size_t>(page)] == 1; }

  int64_t acquire_slot();
  void release_slot(int64_t slot);

 private:
  Backend& backend_;
  std::unique_ptr<State> state_;
  std::vector<int32_t> references_;  // by page
  std::vector<int32_t> free_pages_;  // taken from the back
  std::vector<int64_t> free_slots_;  // taken from the back
};

}  // namespace tercet
