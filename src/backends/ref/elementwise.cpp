#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/ref/ref_backend.h"

namespace tercet::ref {
namespace {

/// 1 / sqrt(mean(x^2) + eps)
float inverse_rms(const float* x, int64_t count, float eps) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(count) + static_cast<double>(eps)));
}

void normalize_head(float* x, const float* w, int64_t count, float eps) {
  const float factor = inverse_rms(x, count, eps);
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] * factor * (1.0F + w[i]);
}

/// Rotates pairs (i, i + half) of the first 2 * half dimensions by position * frequency.
void rotate_head(float* x, int64_t position, const float* frequencies, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * frequencies[i];
    const float c = std::cos(angle);
    const float s = std::sin(angle);
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * c - b * s;
    x[i + half] = b * c + a * s;
  }
}

}  // namespace

float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

float silu(float x) {
  return x * sigmoid(x);
}

void RefBackend::do_rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset,
                             TensorView out) {
  for (int64_t t = 0; t < x.rows; ++t) {
    const float* in = x.f32() + t * x.cols;
    const float factor = inverse_rms(in, x.cols, eps);
    for (int64_t i = 0; i < x.cols; ++i) {
      out.f32()[t * x.cols + i] = in[i] * factor * (offset ? 1.0F + w.f32()[i] : w.f32()[i]);
    }
  }
}

void RefBackend::do_gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                                   TensorView out) {
  const int64_t size = w.cols;
  for (int64_t head = 0; head < x.count() / size; ++head) {
    const float* in = x.f32() + head * size;
    const float factor = inverse_rms(in, size, eps);
    for (int64_t i = 0; i < size; ++i) {
      out.f32()[head * size + i] = in[i] * factor * w.f32()[i] * silu(z.f32()[head * size + i]);
    }
  }
}

void RefBackend::do_qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm,
                                 const TensorView& k_norm, const TensorView& inverse_frequencies, float eps,
                                 TensorView q_out, TensorView gate_out) {
  const int64_t size = q_norm.cols;
  const int64_t half = inverse_frequencies.cols;
  for (const SequenceSpan& span : step_.sequences) {
    for (int64_t t = span.first_row; t < span.first_row + span.rows; ++t) {
      const int64_t position = position_of(span, t);
      for (int64_t head = 0; head < q_out.cols / size; ++head) {
        const float* both = qg.f32() + t * qg.cols + head * 2 * size;
        float* query = q_out.f32() + t * q_out.cols + head * size;
        std::memcpy(query, both, static_cast<size_t>(size) * sizeof(float));
        std::memcpy(gate_out.f32() + t * q_out.cols + head * size, both + size,
                    static_cast<size_t>(size) * sizeof(float));
        normalize_head(query, q_norm.f32(), size, eps);
        rotate_head(query, position, inverse_frequencies.f32(), half);
      }
      for (int64_t head = 0; head < k.cols / size; ++head) {
        float* key = k.f32() + t * k.cols + head * size;
        normalize_head(key, k_norm.f32(), size, eps);
        rotate_head(key, position, inverse_frequencies.f32(), half);
      }
    }
  }
}

void RefBackend::do_sigmoid_gate(TensorView x, const TensorView& gate) {
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t i = 0; i < x.cols; ++i) {
      x.f32()[t * x.cols + i] *= sigmoid(gate.f32()[gate.cols == 1 ? t : t * x.cols + i]);
    }
  }
}

void RefBackend::do_gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log,
                              const TensorView& dt_bias, TensorView g, TensorView beta) {
  for (int64_t i = 0; i < a.count(); ++i) {
    const int64_t head = i % a.cols;
    const float shifted = a.f32()[i] + dt_bias.f32()[head];
    const float softplus = shifted > 20.0F ? shifted : std::log1p(std::exp(shifted));
    g.f32()[i] = -std::exp(a_log.f32()[head]) * softplus;
    beta.f32()[i] = sigmoid(b.f32()[i]);
  }
}

void RefBackend::do_silu_mul(const TensorView& gate, const TensorView& up, TensorView out) {
  for (int64_t i = 0; i < gate.count(); ++i) out.f32()[i] = silu(gate.f32()[i]) * up.f32()[i];
}

void RefBackend::do_router_topk(const TensorView& logits, TensorView index, TensorView weight) {
  const int64_t top_k = index.cols;
  std::vector<int32_t> order(static_cast<size_t>(logits.cols));
  for (int64_t t = 0; t < logits.rows; ++t) {
    const float* row = logits.f32() + t * logits.cols;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t i, int32_t j) { return row[i] > row[j]; });
    // The softmax's denominator cancels in the renormalization.
    double sum = 0;
    for (int64_t j = 0; j < top_k; ++j)
      sum += std::exp(static_cast<double>(row[order[static_cast<size_t>(j)]] - row[order[0]]));
    for (int64_t j = 0; j < top_k; ++j) {
      const int32_t expert = order[static_cast<size_t>(j)];
      index.i32()[t * top_k + j] = expert;
      weight.f32()[t * top_k + j] =
          static_cast<float>(std::exp(static_cast<double>(row[expert] - row[order[0]])) / sum);
    }
  }
}

void RefBackend::do_add(TensorView x, const TensorView& y) {
  for (int64_t i = 0; i < x.count(); ++i) x.f32()[i] += y.f32()[i];
}

void RefBackend::do_gather_rows(const TensorView& x, const TensorView& rows, TensorView out) {
  for (int64_t i = 0; i < rows.rows; ++i) {
    const int64_t row = rows.i32()[i];
    TERCET_CHECK_LT(row, x.rows);
    std::memcpy(out.f32() + i * out.cols, x.f32() + row * x.cols,
                static_cast<size_t>(x.cols) * sizeof(float));
  }
}

void RefBackend::do_sample(const TensorView& logits, const SamplingBatch& batch, TensorView token) {
  SamplingScratch scratch;
  for (int64_t i = 0; i < logits.rows; ++i) {
    const std::span<const float> row(logits.f32() + i * logits.cols, static_cast<size_t>(logits.cols));
    token.i32()[i] = sample_row(row, batch.rows[static_cast<size_t>(i)], batch.real_vocab, scratch);
  }
}

}  // namespace tercet::ref
