#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tercet {

/// Order statistics of KL(reference || model) over positions, in nats.
struct KlSummary {
  double mean = 0;
  double median = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

/// What one position says: filled by compare_logits.
struct PositionComparison {
  double kl = 0;      // nats
  bool top1 = false;  // equal argmax, ties to the lower id
  bool top5 = false;  // the reference's argmax is among the model's five largest, ties to the lower id
};

/// KL(reference || model), top-1 and top-5 of one row of logits each, [vocab].
PositionComparison compare_logits(std::span<const float> reference, std::span<const float> model);

/// -log softmax(logits)[target] in nats.
double cross_entropy(std::span<const float> logits, int32_t target);

/// Collects positions in order.
class Divergence {
 public:
  void add(const PositionComparison& position);

  int64_t positions() const { return static_cast<int64_t>(kl_.size()); }
  KlSummary kl() const;
  double top1() const;
  double top5() const;

 private:
  std::vector<double> kl_;
  int64_t top1_ = 0;
  int64_t top5_ = 0;
};

}  // namespace tercet
