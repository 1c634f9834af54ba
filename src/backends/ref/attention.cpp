#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/ref/ref_backend.h"

namespace tercet::ref {

void RefBackend::do_kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer) {
  auto& pages = static_cast<RefState&>(state);
  for (const SequenceSpan& span : step_.sequences) {
    for (int64_t t = span.first_row; t < span.first_row + span.rows; ++t) {
      const int64_t position = position_of(span, t);
      const int64_t page = page_of(span, position);
      const int64_t offset = position % kPageSize * k.cols;
      std::memcpy(pages.key(page, layer) + offset, k.f32() + t * k.cols,
                  static_cast<size_t>(k.cols) * sizeof(float));
      std::memcpy(pages.value(page, layer) + offset, v.f32() + t * v.cols,
                  static_cast<size_t>(v.cols) * sizeof(float));
    }
  }
}

void RefBackend::do_attention(const TensorView& q, const State& state, int64_t layer, TensorView out) {
  const auto& pages = static_cast<const RefState&>(state);
  const int64_t size = state.shape.head_dim;
  const int64_t heads = q.cols / size;
  const int64_t heads_per_kv = heads / state.shape.kv_heads;
  const double scale = 1.0 / std::sqrt(static_cast<double>(size));
  for (const SequenceSpan& span : step_.sequences) {
    for (int64_t t = span.first_row; t < span.first_row + span.rows; ++t) {
      const int64_t count = position_of(span, t) + 1;
      for (int64_t head = 0; head < heads; ++head) {
        const float* query = q.f32() + t * q.cols + head * size;
        const auto offset = [&](int64_t i) {
          return (i % kPageSize * state.shape.kv_heads + head / heads_per_kv) * size;
        };
        std::vector<double> score(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) {
          const float* key = pages.key(page_of(span, i), layer) + offset(i);
          double sum = 0;
          for (int64_t d = 0; d < size; ++d)
            sum += static_cast<double>(query[d]) * static_cast<double>(key[d]);
          score[static_cast<size_t>(i)] = sum * scale;
        }
        const double largest = *std::max_element(score.begin(), score.end());
        std::vector<double> sum(static_cast<size_t>(size), 0.0);
        double total = 0;
        for (int64_t i = 0; i < count; ++i) {
          const double share = std::exp(score[static_cast<size_t>(i)] - largest);
          const float* value = pages.value(page_of(span, i), layer) + offset(i);
          total += share;
          for (int64_t d = 0; d < size; ++d)
            sum[static_cast<size_t>(d)] += share * static_cast<double>(value[d]);
        }
        float* result = out.f32() + t * out.cols + head * size;
        for (int64_t d = 0; d < size; ++d)
          result[d] = static_cast<float>(sum[static_cast<size_t>(d)] / total);
      }
    }
  }
}

}  // namespace tercet::ref
