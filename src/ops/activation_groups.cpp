#include <algorithm>
#include <numeric>

#include "ops/backend.h"

namespace tercet {
namespace {

/// Every group has exactly group_size columns (the last one what remains), so that sorted by group they are
/// consecutive.
bool is_regular(const QuantizedMatrix& matrix) {
  if (matrix.group_index.empty()) return true;
  std::vector<int64_t> count(static_cast<size_t>(matrix.groups()));
  for (const int32_t group : matrix.group_index) ++count[static_cast<size_t>(group)];
  for (int64_t g = 0; g < matrix.groups(); ++g) {
    const int64_t expected = std::min(matrix.group_size, matrix.cols - g * matrix.group_size);
    if (count[static_cast<size_t>(g)] != expected) return false;
  }
  return true;
}

}  // namespace

int64_t activation_group(const QuantizedMatrix& matrix) {
  if (!is_regular(matrix)) return 0;
  if (matrix.group_size >= matrix.cols || matrix.group_size % 128 == 0) return 128;
  return matrix.group_size == 32 || matrix.group_size == 64 ? matrix.group_size : 0;
}

std::vector<int32_t> column_order(const QuantizedMatrix& matrix) {
  std::vector<int32_t> order(static_cast<size_t>(matrix.cols));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return matrix.group_of(a) < matrix.group_of(b); });
  return order;
}

}  // namespace tercet
