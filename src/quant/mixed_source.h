#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/weight_source.h"

namespace tercet {

/// A model of which some matrices are quantized: those that were put here; the rest come from `base`.
class MixedSource final : public WeightSource {
 public:
  explicit MixedSource(const WeightSource& base) : base_(base) {}

  const ModelConfig& config() const override { return base_.config(); }
  CanonicalMatrix matrix(const std::string& module) const override {
    const auto entry = replaced_.find(module);
    return entry == replaced_.end() ? base_.matrix(module) : CanonicalMatrix(entry->second);
  }
  std::vector<float> values(const std::string& tensor) const override { return base_.values(tensor); }
  void drop_pages() const override { base_.drop_pages(); }

  void put(const std::string& module, QuantizedMatrix matrix) { replaced_[module] = std::move(matrix); }
  const std::map<std::string, QuantizedMatrix>& replaced() const { return replaced_; }
  void clear() { replaced_.clear(); }

 private:
  const WeightSource& base_;
  std::map<std::string, QuantizedMatrix> replaced_;
};

}  // namespace tercet
