#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"

namespace tercet {

/// Counts the bytes that steps read: all weights but the embedding (a row a token) and the experts, the
/// experts that rows were routed to, keys and values of the positions so far, and the recurrent state.
class Traffic : public Observer {
 public:
  explicit Traffic(Model& model);

  /// Sees the routing of a step.
  void observe(Tap tap, int64_t layer, const TensorView& value) override;

  /// Bytes of weights in the step just observed; forgets it.
  double take_weight_bytes();

  /// Bytes of state that one more token at `position` reads, on average over a chunk.
  double state_bytes(int64_t position) const;

  /// Bytes of all weights.
  int64_t model_bytes() const { return model_bytes_; }

 private:
  Model& model_;
  int64_t dense_bytes_ = 0;  // read by every step
  int64_t model_bytes_ = 0;
  double expert_bytes_ = 0;  // of the step being observed
  std::vector<int32_t> index_;
};

}  // namespace tercet
