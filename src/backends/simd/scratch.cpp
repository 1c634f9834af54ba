#include "backends/simd/scratch.h"

#include <algorithm>
#include <cstring>

#include "backends/simd/memory.h"
#include "base/check.h"

namespace tercet::simd {

void ActivationScratch::plan(int64_t rows, int64_t depth) {
  rows_ = rows;
  depth_ = depth;
  values_ = allocate_memory(rows * depth * 4);
  codes_ = allocate_memory(rows * depth);
  scales_ = allocate_memory(rows * depth / kBlock * 4);
  sums_ = allocate_memory(rows * depth / kBlock * 4);
}

Activations ActivationScratch::view(const Matrix& matrix, int64_t first, int64_t rows) const {
  Activations x;
  x.rows = rows;
  x.depth = matrix.panels.depth;
  x.group = matrix.activation_group;
  TERCET_CHECK_LE(first + rows, rows_);
  TERCET_CHECK_LE(x.depth, depth_);
  const int64_t groups = x.group > 0 ? (x.depth + x.group - 1) / x.group : 0;
  TERCET_CHECK_LE(groups, depth_ / kBlock);
  // Where rows begin must not depend on the matrix: experts of one stack may differ in their groups.
  x.values = static_cast<const float*>(values_.get()) + first * depth_;
  x.codes = static_cast<const int8_t*>(codes_.get()) + first * depth_;
  x.scales = static_cast<const float*>(scales_.get()) + first * (depth_ / kBlock);
  x.sums = static_cast<const int32_t*>(sums_.get()) + first * (depth_ / kBlock);
  return x;
}

void ActivationScratch::pack(const Kernels& kernels, const Matrix& matrix, const Activations& target,
                             int64_t row, const float* x, ThreadScratch& thread) {
  int64_t first = 0;  // the tile that holds the row
  int64_t tile = tile_rows(target.rows, kernels.tile_rows);
  while (row >= first + tile) {
    first += tile;
    tile = tile_rows(target.rows - first, kernels.tile_rows);
  }
  const int64_t cols = matrix.panels.cols;
  if (!matrix.order.empty()) {
    for (int64_t k = 0; k < cols; ++k)
      thread.row[static_cast<size_t>(k)] = x[matrix.order[static_cast<size_t>(k)]];
    x = thread.row.data();
  }
  const int64_t lane = row - first;
  if (target.group == 0) {
    float* values = const_cast<float*>(target.values) + first * target.depth + lane;  // our own memory
    for (int64_t k = 0; k < cols; ++k) values[k * tile] = x[k];
    for (int64_t k = cols; k < target.depth; ++k) values[k * tile] = 0;
    return;
  }
  kernels.quantize_row(x, cols, target.group, thread.codes.data(), thread.scales.data(), thread.sums.data());
  const int64_t groups = (target.depth + target.group - 1) / target.group;
  auto* codes = const_cast<int8_t*>(target.codes) + first * target.depth + lane * 4;
  auto* scales = const_cast<float*>(target.scales) + first * groups + lane;
  auto* sums = const_cast<int32_t*>(target.sums) + first * groups + lane;
  for (int64_t k = 0; k < target.depth; k += 4) std::memcpy(codes + k * tile, thread.codes.data() + k, 4);
  for (int64_t g = 0; g < groups; ++g) {
    scales[g * tile] = thread.scales[static_cast<size_t>(g)];
    sums[g * tile] = thread.sums[static_cast<size_t>(g)];
  }
}

void ExpertRows::plan(int64_t slots, int64_t experts) {
  next_.assign(static_cast<size_t>(experts), 0);
  slots_.assign(static_cast<size_t>(slots), 0);
  sorted_.assign(static_cast<size_t>(slots), 0);
  groups_.reserve(static_cast<size_t>(experts));
}

void ExpertRows::sort(const int32_t* index, int64_t slots, int64_t experts) {
  TERCET_CHECK_LE(slots, static_cast<int64_t>(slots_.size()));
  TERCET_CHECK_LE(experts, static_cast<int64_t>(next_.size()));
  std::fill(next_.begin(), next_.end(), 0);
  for (int64_t s = 0; s < slots; ++s) {
    TERCET_CHECK_LE(0, index[s]);
    TERCET_CHECK_LT(index[s], experts);
    ++next_[static_cast<size_t>(index[s])];
  }
  groups_.clear();
  int64_t first = 0;
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t rows = next_[static_cast<size_t>(e)];
    if (rows > 0) groups_.push_back({e, first, rows});
    next_[static_cast<size_t>(e)] = first;
    first += rows;
  }
  for (int64_t s = 0; s < slots; ++s) {
    const int64_t sorted = next_[static_cast<size_t>(index[s])]++;
    slots_[static_cast<size_t>(sorted)] = s;
    sorted_[static_cast<size_t>(s)] = sorted;
  }
}

}  // namespace tercet::simd
