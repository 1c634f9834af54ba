#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/simd/simd_backend.h"

namespace tercet::simd {
namespace {

/// Rotates pairs (i, i + half); `table` holds cosines, then sines.
void rotate(float* x, const float* table, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * table[i] - b * table[half + i];
    x[i + half] = b * table[i] + a * table[half + i];
  }
}

}  // namespace

void SimdBackend::do_qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm,
                                  const TensorView& k_norm, const TensorView& inverse_frequencies, float eps,
                                  TensorView q_out, TensorView gate_out) {
  const int64_t size = q_norm.cols;
  const int64_t half = inverse_frequencies.cols;
  TERCET_CHECK_LE(2 * half, static_cast<int64_t>(threads_.front().row.size()));
  for_rows(qg.rows, qg.cols, [&](int64_t t, int thread) {
    float* table = thread_scratch(thread).row.data();
    for (int64_t i = 0; i < half; ++i) {
      const float angle =
          static_cast<float>(positions_[static_cast<size_t>(t)]) * inverse_frequencies.f32()[i];
      table[i] = std::cos(angle);
      table[half + i] = std::sin(angle);
    }
    for (int64_t head = 0; head < q_out.cols / size; ++head) {
      const float* both = qg.f32() + t * qg.cols + head * 2 * size;
      float* query = q_out.f32() + t * q_out.cols + head * size;
      float* gate = gate_out.f32() + t * q_out.cols + head * size;
      kernels_.rms_norm(both, q_norm.f32(), nullptr, size, eps, true, query);
      rotate(query, table, half);
      std::memcpy(gate, both + size, static_cast<size_t>(size) * sizeof(float));
    }
    for (int64_t head = 0; head < k.cols / size; ++head) {
      float* key = k.f32() + t * k.cols + head * size;
      kernels_.rms_norm(key, k_norm.f32(), nullptr, size, eps, true, key);
      rotate(key, table, half);
    }
  });
}

void SimdBackend::do_kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer) {
  const auto& memory = static_cast<SimdState&>(state);
  const int64_t size = state.shape.head_dim;
  for_rows(state.shape.kv_heads, k.rows * size, [&](int64_t head, int) {
    for (int64_t t = 0; t < k.rows; ++t) {
      const SequenceSpan& span = step_.sequences[static_cast<size_t>(sequences_[static_cast<size_t>(t)])];
      const int64_t position = positions_[static_cast<size_t>(t)];
      const int64_t page = step_.pages[static_cast<size_t>(span.first_page + position / kPageSize)];
      TERCET_CHECK_LT(page, state.pages);
      const int64_t place = position % kPageSize;
      float* keys = memory.page(page) + memory.head_offset(layer, head);
      float* values = keys + kPageSize * size;
      const float* key = k.f32() + t * k.cols + head * size;
      for (int64_t d = 0; d < size; ++d) keys[d * kPageSize + place] = key[d];
      std::memcpy(values + place * size, v.f32() + t * v.cols + head * size,
                  static_cast<size_t>(size) * sizeof(float));
    }
  });
}

void SimdBackend::do_attention(const TensorView& q, const State& state, int64_t layer, TensorView out) {
  const auto& memory = static_cast<const SimdState&>(state);
  const int64_t size = state.shape.head_dim;
  const int64_t heads_per_kv = q.cols / size / state.shape.kv_heads;
  const int64_t tiles_per_kv = (heads_per_kv + kHeadTile - 1) / kHeadTile;
  const int64_t tiles = state.shape.kv_heads * tiles_per_kv;
  const int64_t items = static_cast<int64_t>(row_blocks_.size()) * tiles;
  const auto attend = [&](int64_t item) {
    const RowBlock& block = row_blocks_[static_cast<size_t>(item / tiles)];
    const SequenceSpan& span = step_.sequences[static_cast<size_t>(block.sequence)];
    const int64_t kv_head = item % tiles / tiles_per_kv;
    const int64_t first_head = item % tiles_per_kv * kHeadTile;
    AttentionJob job{};
    const int64_t at = block.first_row * q.cols + (kv_head * heads_per_kv + first_head) * size;
    job.query = q.f32() + at;
    job.out = out.f32() + at;
    job.stride = q.cols;
    job.rows = block.rows;
    job.heads = std::min(kHeadTile, heads_per_kv - first_head);
    job.head_dim = size;
    job.position = positions_[static_cast<size_t>(block.first_row)];
    job.kv = memory.page(0) + memory.head_offset(layer, kv_head);
    job.page_stride = state.shape.page_floats();
    job.pages = step_.pages.data() + span.first_page;
    job.scale = 1.0F / std::sqrt(static_cast<float>(size));
    kernels_.attention(job);
  };
  // Later rows have more keys: threads take items in turn, so that each meets short and long ones.
  const int64_t threads = pool_.threads();
  share(threads, attended_ * q.cols * 2, [&](int64_t begin, int64_t end, int) {
    for (int64_t first = begin; first < end; ++first) {
      for (int64_t item = first; item < items; item += threads) attend(item);
    }
  });
}

void SimdBackend::do_conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer,
                                   TensorView out) {
  const auto& memory = static_cast<SimdState&>(state);
  const int64_t blocks = (u.cols + kConvChannels - 1) / kConvChannels;
  const int64_t sequences = static_cast<int64_t>(step_.sequences.size());
  for_rows(blocks * sequences, kConvChannels * 8, [&](int64_t item, int) {
    const int64_t channel = item / sequences * kConvChannels;
    const SequenceSpan& span = step_.sequences[static_cast<size_t>(item % sequences)];
    ConvJob job{};
    job.in = u.f32() + span.first_row * u.cols + channel;
    job.out = out.f32() + span.first_row * u.cols + channel;
    job.stride = u.cols;
    job.rows = span.rows;
    job.channels = std::min(kConvChannels, u.cols - channel);
    job.position = span.position;
    job.weights = w.f32() + channel * w.cols;
    job.kernel = w.cols;
    job.window = memory.slot_layer(span.slot, layer).window + channel;
    job.window_stride = u.cols;
    kernels_.convolve(job);
  });
}

void SimdBackend::do_gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log,
                               const TensorView& dt_bias, TensorView g, TensorView beta) {
  for_rows(a.rows, a.cols * 32, [&](int64_t t, int) {
    for (int64_t h = 0; h < a.cols; ++h) {
      const int64_t i = t * a.cols + h;
      const float shifted = a.f32()[i] + dt_bias.f32()[h];
      const float softplus = shifted > 20.0F ? shifted : std::log1p(std::exp(shifted));
      g.f32()[i] = -std::exp(a_log.f32()[h]) * softplus;
      beta.f32()[i] = 1.0F / (1.0F + std::exp(-b.f32()[i]));
    }
  });
}

void SimdBackend::do_gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta,
                                      State& state, int64_t layer, TensorView out) {
  const StateShape& shape = state.shape;
  const auto& memory = static_cast<SimdState&>(state);
  const int64_t sequences = static_cast<int64_t>(step_.sequences.size());
  const int64_t ratio = shape.value_heads / shape.key_heads;
  const int64_t key_width = shape.key_heads * shape.key_dim;
  const int64_t work = 2 * qkv.rows * shape.value_heads * shape.key_dim * shape.value_dim;
  share(shape.key_heads * sequences, work, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t head = item / sequences;
      const int64_t value_head = head * ratio;
      const SequenceSpan& span = step_.sequences[static_cast<size_t>(item % sequences)];
      const SlotView slot = memory.slot_layer(span.slot, layer);
      const float* row = qkv.f32() + span.first_row * qkv.cols;
      DeltaRuleJob job{};
      job.query = row + head * shape.key_dim;
      job.key = row + key_width + head * shape.key_dim;
      job.value = row + 2 * key_width + value_head * shape.value_dim;
      job.qkv_stride = qkv.cols;
      job.g = g.f32() + span.first_row * g.cols + value_head;
      job.beta = beta.f32() + span.first_row * g.cols + value_head;
      job.gate_stride = g.cols;
      job.out = out.f32() + span.first_row * out.cols + value_head * shape.value_dim;
      job.out_stride = out.cols;
      job.rows = span.rows;
      job.position = span.position;
      job.value_heads = ratio;
      job.key_dim = shape.key_dim;
      job.value_dim = shape.value_dim;
      job.state = slot.state + value_head * shape.key_dim * shape.value_dim;
      job.keys = slot.keys + head * shape.key_dim * kChunkSize;
      job.corrected = slot.corrected + value_head * kChunkSize * shape.value_dim;
      job.decay = slot.decay + value_head * kChunkSize;
      job.scratch = static_cast<float*>(memory.delta_scratch.get()) + thread * memory.delta_floats;
      kernels_.delta_rule(job);
    }
  });
}

}  // namespace tercet::simd
