#include "model/divergence.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tercet {
namespace {

int64_t argmax(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

/// log sum exp, shifted by the largest.
double log_sum(std::span<const float> logits, float largest) {
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - largest));
  return std::log(sum) + static_cast<double>(largest);
}

}  // namespace

PositionComparison compare_logits(std::span<const float> reference, std::span<const float> model) {
  TERCET_CHECK_EQ(reference.size(), model.size());
  const int64_t best = argmax(reference);
  const int64_t model_best = argmax(model);
  const float reference_top = reference[static_cast<size_t>(best)];
  const double reference_log = log_sum(reference, reference_top);
  const double model_log = log_sum(model, model[static_cast<size_t>(model_best)]);
  const float wanted = model[static_cast<size_t>(best)];
  double kl = 0;
  int64_t larger = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double log_p = static_cast<double>(reference[i]) - reference_log;
    const double log_q = static_cast<double>(model[i]) - model_log;
    kl += static_cast<double>(std::exp(static_cast<float>(log_p))) * (log_p - log_q);
    larger +=
        static_cast<int64_t>(model[i] > wanted || (model[i] == wanted && static_cast<int64_t>(i) < best));
  }
  return {kl, best == model_best, larger < 5};
}

double cross_entropy(std::span<const float> logits, int32_t target) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  return log_sum(logits, largest) - static_cast<double>(logits[static_cast<size_t>(target)]);
}

void Divergence::add(const PositionComparison& position) {
  kl_.push_back(position.kl);
  top1_ += static_cast<int64_t>(position.top1);
  top5_ += static_cast<int64_t>(position.top5);
}

KlSummary Divergence::kl() const {
  KlSummary summary;
  if (kl_.empty()) return summary;
  std::vector<double> sorted(kl_);
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double q) {
    return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
  };
  for (const double kl : kl_) summary.mean += kl;
  summary.mean /= static_cast<double>(kl_.size());
  summary.median = quantile(0.5);
  summary.p99 = quantile(0.99);
  summary.p999 = quantile(0.999);
  summary.max = sorted.back();
  return summary;
}

double Divergence::top1() const {
  return static_cast<double>(top1_) / static_cast<double>(kl_.size());
}

double Divergence::top5() const {
  return static_cast<double>(top5_) / static_cast<double>(kl_.size());
}

}  // namespace tercet
