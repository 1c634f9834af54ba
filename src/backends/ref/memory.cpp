#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backends/ref/ref_backend.h"

namespace tercet {

std::unique_ptr<Backend> open_ref_backend(const BackendOptions& options) {
  return std::make_unique<ref::RefBackend>(options);
}

namespace ref {

Buffer RefBackend::allocate(int64_t bytes) {
  const size_t padded = static_cast<size_t>((std::max<int64_t>(bytes, 1) + 63) / 64 * 64);
  void* memory = std::aligned_alloc(64, padded);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, padded);
  return {memory, std::free};
}

void RefBackend::upload(void* destination, const void* source, int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
}

void RefBackend::download(void* destination, const void* source, int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
}

std::unique_ptr<State> RefBackend::create_state(const StateShape& shape, int64_t pages, int64_t slots) {
  auto state = std::make_unique<RefState>();
  state->shape = shape;
  state->pages = pages;
  state->slots = slots;
  state->page_data.resize(static_cast<size_t>(pages * shape.page_floats()));
  state->slot_data.resize(static_cast<size_t>(slots * shape.slot_floats()));
  return state;
}

void RefBackend::copy_slot(State& state, int64_t from, int64_t to) {
  std::vector<float>& data = static_cast<RefState&>(state).slot_data;
  const int64_t size = state.shape.slot_floats();
  std::copy_n(data.begin() + from * size, size, data.begin() + to * size);
}

void RefBackend::copy_page(State& state, int64_t from, int64_t to) {
  std::vector<float>& data = static_cast<RefState&>(state).page_data;
  const int64_t size = state.shape.page_floats();
  std::copy_n(data.begin() + from * size, size, data.begin() + to * size);
}

SlotView RefState::slot(int64_t slot, int64_t layer) {
  const int64_t layer_floats = shape.slot_floats() / shape.gdn_layers;
  SlotView view{};
  view.state = slot_data.data() + slot * shape.slot_floats() + layer * layer_floats;
  view.keys = view.state + shape.value_heads * shape.key_dim * shape.value_dim;
  view.corrected = view.keys + kChunkSize * shape.key_heads * shape.key_dim;
  view.decay = view.corrected + kChunkSize * shape.value_heads * shape.value_dim;
  view.window = view.decay + kChunkSize * shape.value_heads;
  return view;
}

TensorView RefBackend::tokens() {
  return {step_.tokens.data(), DType::kI32, step_.rows(), 1};
}

TensorView RefBackend::logit_rows() {
  return {step_.logit_rows.data(), DType::kI32, static_cast<int64_t>(step_.logit_rows.size()), 1};
}

}  // namespace ref
}  // namespace tercet
