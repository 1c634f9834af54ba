#include "backends/simd/simd_backend.h"

#include <algorithm>
#include <cstring>

#include "backends/simd/isa.h"
#include "backends/simd/memory.h"

namespace tercet {

std::unique_ptr<Backend> open_simd_backend(const BackendOptions& options) {
  return std::make_unique<simd::SimdBackend>(options, simd::choose_kernels());
}

namespace simd {

SimdBackend::SimdBackend(const BackendOptions& options, const Kernels& kernels)
    : kernels_(kernels), exact_(options.exact), pool_(options.threads) {
  threads_.resize(static_cast<size_t>(pool_.threads()));
}

std::string SimdBackend::description() const {
  return std::string("simd (") + kernels_.name + (exact_ ? ", exact)" : ")");
}

Buffer SimdBackend::allocate(int64_t bytes) {
  return allocate_memory(bytes);
}

void SimdBackend::upload(void* destination, const void* source, int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
}

void SimdBackend::download(void* destination, const void* source, int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
}

Weight SimdBackend::do_prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) {
  return prepare_weight(pool_, exact_, count, matrix);
}

Weight SimdBackend::prepare_synthetic(const SyntheticSpec& spec) {
  return prepare_random_weight(pool_, exact_, spec);
}

SlotView SimdState::slot_layer(int64_t slot_index, int64_t layer) const {
  SlotView view{};
  view.state = slot(slot_index) + layer * (shape.slot_floats() / shape.gdn_layers);
  view.keys = view.state + shape.value_heads * shape.key_dim * shape.value_dim;
  view.corrected = view.keys + kChunkSize * shape.key_heads * shape.key_dim;
  view.decay = view.corrected + kChunkSize * shape.value_heads * shape.value_dim;
  view.window = view.decay + kChunkSize * shape.value_heads;
  return view;
}

std::unique_ptr<State> SimdBackend::create_state(const StateShape& shape, int64_t pages, int64_t slots) {
  TERCET_CHECK_LE(shape.conv_kernel, kConvKernel);
  auto state = std::make_unique<SimdState>();
  state->shape = shape;
  state->pages = pages;
  state->slots = slots;
  state->page_memory = allocate_memory(pages * shape.page_floats() * 4);
  state->slot_memory = allocate_memory(slots * shape.slot_floats() * 4);
  state->delta_floats = delta_rule_scratch(shape.key_dim, shape.value_dim);
  state->delta_scratch = allocate_memory(pool_.threads() * state->delta_floats * 4);
  return state;
}

void SimdBackend::copy_slot(State& state, int64_t from, int64_t to) {
  const auto& memory = static_cast<SimdState&>(state);
  std::memcpy(memory.slot(to), memory.slot(from), static_cast<size_t>(4 * state.shape.slot_floats()));
}

void SimdBackend::copy_page(State& state, int64_t from, int64_t to) {
  const auto& memory = static_cast<SimdState&>(state);
  std::memcpy(memory.page(to), memory.page(from), static_cast<size_t>(4 * state.shape.page_floats()));
}

void SimdBackend::plan(const StepLimits& limits) {
  limits_ = limits;
  const int64_t widest = std::max(limits.widest, limits.expert_width);
  const int64_t depth = (widest + kBlock - 1) / kBlock * kBlock;
  for (ThreadScratch& thread : threads_) {
    thread.row.resize(static_cast<size_t>(depth));
    thread.codes.resize(static_cast<size_t>(depth + kLanes));
    thread.scales.resize(static_cast<size_t>(depth));
    thread.sums.resize(static_cast<size_t>(depth));
    thread.sampling.reserve(limits.vocab);
  }
  const int64_t slots = limits.rows * limits.top_k;
  const int64_t rows = std::max({limits.rows, limits.logit_rows, slots});
  inputs_.plan(rows, depth);
  other_inputs_.plan(slots, depth);
  experts_.plan(slots, limits.experts);
  hidden_ = allocate_memory(slots * limits.expert_width * 4);
  up_ = allocate_memory(slots * limits.expert_width * 4);
  // At least four panels for every slot, and enough for a few slots to take all panels at once.
  expert_output_floats_ = std::max<int64_t>(slots * 4 * kLanes, 65536);
  expert_outputs_ = allocate_memory(pool_.threads() * expert_output_floats_ * 4);
  const auto reserve = [](auto& values, int64_t count) { values.reserve(static_cast<size_t>(count)); };
  reserve(step_.tokens, limits.rows);
  reserve(step_.sequences, limits.sequences);
  reserve(step_.pages, limits.pages);
  reserve(step_.logit_rows, limits.logit_rows);
  reserve(positions_, limits.rows);
  reserve(sequences_, limits.rows);
  reserve(row_blocks_, limits.rows / kRowTile + limits.sequences);
}

void SimdBackend::do_begin_step(const Step& step) {
  step_ = step;
  positions_.clear();
  sequences_.clear();
  row_blocks_.clear();
  attended_ = 0;
  for (size_t s = 0; s < step.sequences.size(); ++s) {
    const SequenceSpan& span = step.sequences[s];
    attended_ += span.rows * (span.position + span.rows);
    for (int64_t r = 0; r < span.rows; ++r) {
      positions_.push_back(span.position + r);
      sequences_.push_back(static_cast<int64_t>(s));
      if (r % kRowTile == 0) {
        row_blocks_.push_back(
            {static_cast<int64_t>(s), span.first_row + r, std::min(kRowTile, span.rows - r)});
      }
    }
  }
}

TensorView SimdBackend::tokens() {
  return {step_.tokens.data(), DType::kI32, step_.rows(), 1};
}

TensorView SimdBackend::logit_rows() {
  return {step_.logit_rows.data(), DType::kI32, static_cast<int64_t>(step_.logit_rows.size()), 1};
}

}  // namespace simd
}  // namespace tercet
