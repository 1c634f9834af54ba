#include <cmath>
#include <cstring>

#include "backends/ref/ref_backend.h"

namespace tercet::ref {
namespace {

/// out = x * factor / sqrt(sum x^2 + 1e-6)
void l2_normalize(const float* x, int64_t count, double factor, float* out) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double scale = factor / std::sqrt(sum + 1e-6);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<double>(x[i]) * scale);
}

double dot(const float* x, const float* y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

/// One value head of the open chunk: row `i` reads the start state and the chunk's rows before it.
struct ChunkHead {
  const StateShape& shape;
  SlotView slot;
  int64_t head;
  bool first_chunk;  // the start state is zero

  int64_t key_head() const { return head / (shape.value_heads / shape.key_heads); }
  float* key(int64_t i) const { return slot.keys + (i * shape.key_heads + key_head()) * shape.key_dim; }
  float* corrected(int64_t i) const {
    return slot.corrected + (i * shape.value_heads + head) * shape.value_dim;
  }
  float& decay(int64_t i) const { return slot.decay[i * shape.value_heads + head]; }
  float* state() const { return slot.state + head * shape.key_dim * shape.value_dim; }

  /// e^{G_i} S^T x + sum_{j < rows} e^{G_i - G_j} (x . k_j) n_j, component d.
  double read(const float* x, const std::vector<double>& shares, int64_t i, int64_t d) const {
    double sum = 0;
    if (!first_chunk) {
      for (int64_t r = 0; r < shape.key_dim; ++r) {
        sum += static_cast<double>(state()[r * shape.value_dim + d]) * static_cast<double>(x[r]);
      }
      sum *= std::exp(static_cast<double>(decay(i)));
    }
    for (size_t j = 0; j < shares.size(); ++j) {
      sum += shares[j] * static_cast<double>(corrected(static_cast<int64_t>(j))[d]);
    }
    return sum;
  }

  /// e^{G_i - G_j} (x . k_j) for j < rows.
  std::vector<double> shares(const float* x, int64_t i, int64_t rows) const {
    std::vector<double> result;
    for (int64_t j = 0; j < rows; ++j) {
      result.push_back(std::exp(static_cast<double>(decay(i) - decay(j))) * dot(x, key(j), shape.key_dim));
    }
    return result;
  }

  void row(int64_t i, const float* query, const float* value, float g, float beta, float* out) const {
    decay(i) = (i == 0 ? 0.0F : decay(i - 1)) + g;
    const std::vector<double> before = shares(key(i), i, i);
    for (int64_t d = 0; d < shape.value_dim; ++d) {
      corrected(i)[d] =
          static_cast<float>(beta * (static_cast<double>(value[d]) - read(key(i), before, i, d)));
    }
    const std::vector<double> seen = shares(query, i, i + 1);
    for (int64_t d = 0; d < shape.value_dim; ++d) out[d] = static_cast<float>(read(query, seen, i, d));
  }

  /// S <- e^{G_C} S + sum_j e^{G_C - G_j} k_j n_j^T
  void advance() const {
    const int64_t last = kChunkSize - 1;
    for (int64_t r = 0; r < shape.key_dim; ++r) {
      for (int64_t d = 0; d < shape.value_dim; ++d) {
        float& s = state()[r * shape.value_dim + d];
        double sum = first_chunk ? 0 : std::exp(static_cast<double>(decay(last))) * static_cast<double>(s);
        for (int64_t j = 0; j <= last; ++j) {
          sum += std::exp(static_cast<double>(decay(last) - decay(j))) * static_cast<double>(key(j)[r]) *
                 static_cast<double>(corrected(j)[d]);
        }
        s = static_cast<float>(sum);
      }
    }
  }
};

}  // namespace

void RefBackend::do_conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer,
                                  TensorView out) {
  const int64_t channels = u.cols;
  const int64_t kept = w.cols - 1;
  for (const SequenceSpan& span : step_.sequences) {
    float* window = static_cast<RefState&>(state).slot(span.slot, layer).window;
    for (int64_t t = span.first_row; t < span.first_row + span.rows; ++t) {
      const int64_t position = position_of(span, t);
      const float* current = u.f32() + t * channels;
      for (int64_t c = 0; c < channels; ++c) {
        double sum = static_cast<double>(w.f32()[c * w.cols + kept]) * static_cast<double>(current[c]);
        for (int64_t back = 1; back <= kept && back <= position; ++back) {
          const float earlier = window[(position - back) % kept * channels + c];
          sum += static_cast<double>(w.f32()[c * w.cols + kept - back]) * static_cast<double>(earlier);
        }
        out.f32()[t * channels + c] = silu(static_cast<float>(sum));
      }
      if (kept > 0)
        std::memcpy(window + position % kept * channels, current,
                    static_cast<size_t>(channels) * sizeof(float));
    }
  }
}

void RefBackend::do_gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta,
                                     State& state, int64_t layer, TensorView out) {
  const StateShape& shape = state.shape;
  const int64_t key_width = shape.key_heads * shape.key_dim;
  std::vector<float> query(static_cast<size_t>(shape.key_dim));
  for (const SequenceSpan& span : step_.sequences) {
    const SlotView slot = static_cast<RefState&>(state).slot(span.slot, layer);
    for (int64_t t = span.first_row; t < span.first_row + span.rows; ++t) {
      const int64_t position = position_of(span, t);
      const int64_t i = position % kChunkSize;
      const float* row = qkv.f32() + t * qkv.cols;
      for (int64_t h = 0; h < shape.key_heads; ++h) {
        l2_normalize(row + key_width + h * shape.key_dim, shape.key_dim, 1.0,
                     slot.keys + (i * shape.key_heads + h) * shape.key_dim);
      }
      for (int64_t h = 0; h < shape.value_heads; ++h) {
        const ChunkHead head{shape, slot, h, position < kChunkSize};
        l2_normalize(row + head.key_head() * shape.key_dim, shape.key_dim,
                     1.0 / std::sqrt(static_cast<double>(shape.key_dim)), query.data());
        head.row(i, query.data(), row + 2 * key_width + h * shape.value_dim, g.f32()[t * g.cols + h],
                 beta.f32()[t * beta.cols + h], out.f32() + t * out.cols + h * shape.value_dim);
        if (i == kChunkSize - 1) head.advance();
      }
    }
  }
}

}  // namespace tercet::ref
