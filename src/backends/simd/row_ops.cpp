#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/simd/simd_backend.h"

namespace tercet::simd {

void SimdBackend::do_embed(const TensorView& ids, const PreparedWeight& table, TensorView out) {
  const Matrix& matrix = static_cast<const SimdWeight&>(table).matrices.front();
  for_rows(ids.rows, out.cols, [&](int64_t t, int) {
    const int64_t id = ids.i32()[t];
    TERCET_CHECK_LE(0, id);
    TERCET_CHECK_LT(id, table.rows);
    unpack_row(matrix, id, out.f32() + t * out.cols);
  });
}

void SimdBackend::do_rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset,
                              TensorView out) {
  for_rows(x.rows, x.cols, [&](int64_t t, int) {
    kernels_.rms_norm(x.f32() + t * x.cols, w.f32(), nullptr, x.cols, eps, offset, out.f32() + t * x.cols);
  });
}

void SimdBackend::do_gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                                    TensorView out) {
  for_rows(x.count() / w.cols, w.cols, [&](int64_t head, int) {
    const int64_t at = head * w.cols;
    kernels_.rms_norm(x.f32() + at, w.f32(), z.f32() + at, w.cols, eps, false, out.f32() + at);
  });
}

void SimdBackend::do_sigmoid_gate(TensorView x, const TensorView& gate) {
  for_rows(x.rows, x.cols, [&](int64_t t, int) {
    kernels_.sigmoid_gate(x.f32() + t * x.cols, gate.f32() + t * gate.cols, x.cols, gate.cols == 1);
  });
}

void SimdBackend::do_silu_mul(const TensorView& gate, const TensorView& up, TensorView out) {
  for_rows(gate.rows, gate.cols, [&](int64_t t, int) {
    const int64_t at = t * gate.cols;
    kernels_.silu_mul(gate.f32() + at, up.f32() + at, gate.cols, out.f32() + at);
  });
}

void SimdBackend::do_add(TensorView x, const TensorView& y) {
  for_rows(x.rows, x.cols, [&](int64_t t, int) {
    float* sum = x.f32() + t * x.cols;
    const float* term = y.f32() + t * x.cols;
    for (int64_t i = 0; i < x.cols; ++i) sum[i] += term[i];
  });
}

void SimdBackend::do_gather_rows(const TensorView& x, const TensorView& rows, TensorView out) {
  for_rows(rows.rows, x.cols, [&](int64_t i, int) {
    const int64_t row = rows.i32()[i];
    TERCET_CHECK_LE(0, row);
    TERCET_CHECK_LT(row, x.rows);
    std::memcpy(out.f32() + i * x.cols, x.f32() + row * x.cols, static_cast<size_t>(x.cols) * sizeof(float));
  });
}

void SimdBackend::do_router_topk(const TensorView& logits, TensorView index, TensorView weight) {
  const int64_t top_k = index.cols;
  for_rows(logits.rows, 4 * logits.cols, [&](int64_t t, int) {
    const float* row = logits.f32() + t * logits.cols;
    int32_t* best = index.i32() + t * top_k;
    float* share = weight.f32() + t * top_k;
    int64_t kept = 0;
    for (int64_t e = 0; e < logits.cols; ++e) {
      if (kept == top_k && !(row[e] > row[best[kept - 1]])) continue;
      int64_t place = kept < top_k ? kept++ : top_k - 1;
      for (; place > 0 && row[e] > row[best[place - 1]]; --place) best[place] = best[place - 1];
      best[place] = static_cast<int32_t>(e);
    }
    // The softmax's denominator cancels in the renormalization.
    float sum = 0;
    for (int64_t j = 0; j < top_k; ++j) {
      share[j] = std::exp(row[best[j]] - row[best[0]]);
      sum += share[j];
    }
    for (int64_t j = 0; j < top_k; ++j) share[j] /= sum;
  });
}

void SimdBackend::do_sample(const TensorView& logits, const SamplingBatch& batch, TensorView token) {
  for_rows(logits.rows, logits.cols, [&](int64_t i, int thread) {
    const std::span<const float> row(logits.f32() + i * logits.cols, static_cast<size_t>(logits.cols));
    token.i32()[i] = sample_row(row, batch.rows[static_cast<size_t>(i)], batch.real_vocab,
                                thread_scratch(thread).sampling);
  });
}

void SimdBackend::do_quantize_activations(const TensorView& x, int64_t group, TensorView codes,
                                          TensorView scales) {
  TERCET_CHECK_LE(x.cols, static_cast<int64_t>(threads_.front().row.size()));
  for_rows(x.rows, x.cols, [&](int64_t t, int thread) {
    ThreadScratch& scratch = thread_scratch(thread);
    kernels_.quantize_row(x.f32() + t * x.cols, x.cols, group, scratch.codes.data(),
                          scales.f32() + t * scales.cols, scratch.sums.data());
    std::memcpy(codes.i8() + t * x.cols, scratch.codes.data(), static_cast<size_t>(x.cols));
  });
}

void SimdBackend::do_accumulate_products(const TensorView& x, const TensorView& y, float scale,
                                         TensorView out) {
  share(out.rows, x.rows * out.count(), [&](int64_t begin, int64_t end, int) {
    kernels_.accumulate(x.f32(), y.f32(), x.rows, x.cols, scale, begin, end, out.f32());
  });
}

}  // namespace tercet::simd
