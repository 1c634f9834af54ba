#include "ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace tercet {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void repeat_penalty(float& logit, float penalty) {
  logit = logit > 0 ? logit / penalty : logit * penalty;
}

/// Calls change(logit) once for each of the different ids.
template <class Change>
void for_each_of(std::vector<int32_t>& ids, std::span<float> logits, const Change& change) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const int32_t id : ids) {
    if (id >= 0 && id < static_cast<int64_t>(logits.size())) change(logits[static_cast<size_t>(id)]);
  }
}

void apply_penalties(const SamplingRow& row, std::span<float> logits, std::vector<int32_t>& ids) {
  ids.assign(row.generated.begin(), row.generated.end());
  ids.insert(ids.end(), row.prompt.begin(), row.prompt.end());
  for_each_of(ids, logits, [&](float& logit) { repeat_penalty(logit, row.params.repetition_penalty); });
  ids.assign(row.generated.begin(), row.generated.end());
  for_each_of(ids, logits, [&](float& logit) { logit -= row.params.presence_penalty; });
}

int32_t largest(std::span<const float> logits) {
  int32_t best = -1;
  float value = kNever;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > value) {
      value = logits[i];
      best = static_cast<int32_t>(i);
    }
  }
  return best;
}

/// Ids in falling order of logit (ties to the lower id), as many as top_k keeps.
void find_candidates(std::span<const float> logits, int64_t top_k, std::vector<int32_t>& ids) {
  ids.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kNever) ids.push_back(static_cast<int32_t>(i));
  }
  const auto before = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)];
    const float y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const size_t keep = top_k > 0 ? std::min(ids.size(), static_cast<size_t>(top_k)) : ids.size();
  std::partial_sort(ids.begin(), ids.begin() + static_cast<int64_t>(keep), ids.end(), before);
  ids.resize(keep);
}

int32_t draw(const SamplingRow& row, SamplingScratch& scratch) {
  const SamplingParams& params = row.params;
  const std::vector<float>& logits = scratch.logits;
  const std::vector<int32_t>& ids = scratch.ids;
  find_candidates(logits, params.top_k, scratch.ids);
  if (ids.empty()) return -1;
  const float top = logits[static_cast<size_t>(ids[0])];
  std::vector<double>& weight = scratch.weights;
  weight.resize(ids.size());
  double total = 0;
  size_t kept = 0;
  for (; kept < ids.size(); ++kept) {
    weight[kept] =
        std::exp((static_cast<double>(logits[static_cast<size_t>(ids[kept])]) - top) / params.temperature);
    if (kept > 0 && weight[kept] < params.min_p)
      break;  // weight over the largest, which is 1 and always stays
    total += weight[kept];
  }
  double nucleus = 0;
  size_t used = 0;
  while (used < kept && (used == 0 || nucleus < params.top_p * total)) nucleus += weight[used++];
  double target = uniform(params.seed, row.counter) * nucleus;
  for (size_t i = 0; i + 1 < used; ++i) {
    if (target < weight[i]) return ids[i];
    target -= weight[i];
  }
  return ids[used - 1];
}

}  // namespace

double uniform(uint64_t seed, uint64_t counter) {
  return static_cast<double>(mix64(mix64(seed) + counter) >> 11) * 0x1p-53;
}

void check_drawn(std::span<const int32_t> ids) {
  if (std::any_of(ids.begin(), ids.end(), [](int32_t id) { return id < 0; })) {
    throw Error(ErrorKind::kCheckpoint, "the model's logits are not finite: its weights are damaged");
  }
}

int32_t sample_row(std::span<const float> logits, const SamplingRow& row, int64_t real_vocab,
                   SamplingScratch& scratch) {
  const size_t real =
      real_vocab > 0 ? std::min(logits.size(), static_cast<size_t>(real_vocab)) : logits.size();
  scratch.logits.assign(logits.begin(), logits.begin() + static_cast<int64_t>(real));
  for (float& value : scratch.logits) {
    if (!std::isfinite(value)) value = kNever;
  }
  if (row.params.repetition_penalty != 1.0F || row.params.presence_penalty != 0.0F)
    apply_penalties(row, scratch.logits, scratch.ids);
  if (row.params.temperature <= 0.0F) return largest(scratch.logits);
  return draw(row, scratch);
}

}  // namespace tercet
