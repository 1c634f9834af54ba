#pragma once

#include <functional>
#include <vector>

#include "backends/simd/kernels.h"
#include "backends/simd/weights.h"
#include "ops/backend.h"

namespace tercet::simd {

/// What one thread needs for itself, planned for the widest row.
struct ThreadScratch {
  std::vector<float> row;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  SamplingScratch sampling;
};

/// Inputs of products, in tiles, for a planned number of rows and columns.
class ActivationScratch {
 public:
  void plan(int64_t rows, int64_t depth);

  /// What products with `matrix` read: `rows` rows that are kept from row `first` of the scratch on.
  Activations view(const Matrix& matrix, int64_t first, int64_t rows) const;

  /// Packs row `row` of `target`, gathered, quantized and interleaved as the matrix wants it.
  void pack(const Kernels& kernels, const Matrix& matrix, const Activations& target, int64_t row,
            const float* x, ThreadScratch& thread);

 private:
  int64_t rows_ = 0;
  int64_t depth_ = 0;
  Buffer values_;
  Buffer codes_;
  Buffer scales_;
  Buffer sums_;
};

/// Tokens' rows in the order of their experts, for a planned number of rows and experts.
class ExpertRows {
 public:
  struct Group {
    int64_t expert;
    int64_t first;  // of the sorted rows
    int64_t rows;
  };

  void plan(int64_t slots, int64_t experts);
  /// Sorts the slots t * top_k + j of `index`, keeping the order of t.
  void sort(const int32_t* index, int64_t slots, int64_t experts);

  const std::vector<Group>& groups() const { return groups_; }  // experts that have rows
  int64_t slot_at(int64_t sorted) const { return slots_[static_cast<size_t>(sorted)]; }
  int64_t sorted_at(int64_t slot) const { return sorted_[static_cast<size_t>(slot)]; }

 private:
  std::vector<int64_t> next_;
  std::vector<int64_t> slots_;
  std::vector<int64_t> sorted_;
  std::vector<Group> groups_;
};

}  // namespace tercet::simd
