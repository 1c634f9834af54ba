#pragma once

#include "ops/backend.h"
#include "quant/curvature.h"

namespace tercet {

/// The sums of InputStatistics while they grow, in backend memory.
class InputSums {
 public:
  InputSums(Backend& backend, int64_t width, bool cross);

  static int64_t bytes(int64_t width, bool cross) { return (cross ? 2 : 1) * width * width * 4; }

  /// Adds rows of x' (and of x for the same tokens; not read without cross sums), each with weight `scale`.
  void add(Backend& backend, const TensorView& plain, const TensorView& quantized, float scale);
  InputStatistics download(Backend& backend) const;

 private:
  Buffer buffer_;
  TensorView squares_;
  TensorView cross_;
};

}  // namespace tercet
