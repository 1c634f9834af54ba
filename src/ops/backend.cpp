#include "ops/backend.h"

#include <algorithm>

#include "base/check.h"
#include "ops/random_matrix.h"

namespace tercet {
namespace {

void expect(const TensorView& view, DType dtype, int64_t rows, int64_t cols) {
  TERCET_CHECK(view.dtype == dtype);
  TERCET_CHECK_EQ(view.rows, rows);
  TERCET_CHECK_EQ(view.cols, cols);
  TERCET_CHECK(view.data != nullptr || view.count() == 0);
}

void expect_floats(const TensorView& view, int64_t rows, int64_t cols) {
  expect(view, DType::kF32, rows, cols);
}

void expect_inside(int64_t value, int64_t end) {
  TERCET_CHECK_LE(0, value);
  TERCET_CHECK_LT(value, end);
}

void expect_one(const PreparedWeight& w) {
  TERCET_CHECK_EQ(w.count, 1);
}

}  // namespace

Weight Backend::prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) {
  TERCET_CHECK_LT(0, count);
  return do_prepare(count, matrix);
}

Weight Backend::prepare_synthetic(const SyntheticSpec& spec) {
  std::vector<uint16_t> storage;
  return prepare(spec.count, [&](int64_t i) { return random_matrix(spec, i, storage); });
}

void Backend::begin_step(const Step& step) {
  TERCET_CHECK_LE(step.rows(), limits_.rows);
  TERCET_CHECK_LE(static_cast<int64_t>(step.sequences.size()), limits_.sequences);
  TERCET_CHECK_LE(static_cast<int64_t>(step.pages.size()), limits_.pages);
  TERCET_CHECK_LE(static_cast<int64_t>(step.logit_rows.size()), limits_.logit_rows);
  int64_t next = 0;
  pages_named_ = 0;
  slots_named_ = 0;
  for (const int32_t page : step.pages) {
    TERCET_CHECK_LE(0, page);
    pages_named_ = std::max<int64_t>(pages_named_, page + 1);
  }
  for (const SequenceSpan& span : step.sequences) {
    TERCET_CHECK_LE(0, span.slot);
    slots_named_ = std::max(slots_named_, span.slot + 1);
    TERCET_CHECK_EQ(span.first_row, next);
    TERCET_CHECK_LT(0, span.rows);
    TERCET_CHECK_LE(0, span.position);
    TERCET_CHECK_LE(span.first_page + (span.position + span.rows + kPageSize - 1) / kPageSize,
                    static_cast<int64_t>(step.pages.size()));
    next += span.rows;
  }
  TERCET_CHECK_EQ(next, step.rows());
  for (const int32_t row : step.logit_rows) expect_inside(row, step.rows());
  do_begin_step(step);
}

void Backend::expect_pages(const State& state, int64_t layer) const {
  expect_inside(layer, state.shape.attention_layers);
  TERCET_CHECK_LE(pages_named_, state.pages);
}

void Backend::expect_slots(const State& state, int64_t layer) const {
  expect_inside(layer, state.shape.gdn_layers);
  TERCET_CHECK_LE(slots_named_, state.slots);
}

void Backend::embed(const TensorView& ids, const Weight& table, TensorView out) {
  expect(ids, DType::kI32, out.rows, 1);
  expect_one(*table);
  expect_floats(out, ids.rows, table->cols);
  do_embed(ids, *table, out);
}

void Backend::rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset, TensorView out) {
  expect_floats(w, 1, x.cols);
  expect_floats(out, x.rows, x.cols);
  do_rms_norm(x, w, eps, offset, out);
}

void Backend::linear(const TensorView& x, const Weight& w, TensorView out) {
  expect_one(*w);
  expect_floats(x, out.rows, w->cols);
  expect_floats(out, x.rows, w->rows);
  do_linear(x, *w, out);
}

void Backend::qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm,
                           const TensorView& k_norm, const TensorView& inverse_frequencies, float eps,
                           TensorView q_out, TensorView gate_out) {
  const int64_t head_dim = q_norm.cols;
  expect_floats(q_norm, 1, head_dim);
  expect_floats(k_norm, 1, head_dim);
  expect_floats(qg, k.rows, 2 * q_out.cols);
  expect_floats(q_out, qg.rows, q_out.cols);
  expect_floats(gate_out, qg.rows, q_out.cols);
  TERCET_CHECK_EQ(q_out.cols % head_dim, 0);
  TERCET_CHECK_EQ(k.cols % head_dim, 0);
  TERCET_CHECK_LE(2 * inverse_frequencies.cols, head_dim);
  do_qk_norm_rope(qg, k, q_norm, k_norm, inverse_frequencies, eps, q_out, gate_out);
}

void Backend::kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer) {
  const int64_t width = state.shape.kv_heads * state.shape.head_dim;
  expect_pages(state, layer);
  expect_floats(k, v.rows, width);
  expect_floats(v, k.rows, width);
  do_kv_append(k, v, state, layer);
}

void Backend::attention(const TensorView& q, const State& state, int64_t layer, TensorView out) {
  expect_pages(state, layer);
  expect_floats(out, q.rows, q.cols);
  TERCET_CHECK_EQ(q.cols % (state.shape.head_dim * state.shape.kv_heads), 0);
  do_attention(q, state, layer, out);
}

void Backend::sigmoid_gate(TensorView x, const TensorView& gate) {
  expect_floats(gate, x.rows, gate.cols == 1 ? 1 : x.cols);
  do_sigmoid_gate(x, gate);
}

void Backend::conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer,
                            TensorView out) {
  expect_slots(state, layer);
  expect_floats(u, out.rows, state.shape.conv_channels());
  expect_floats(out, u.rows, u.cols);
  expect_floats(w, u.cols, state.shape.conv_kernel);
  do_conv1d_update(u, w, state, layer, out);
}

void Backend::gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log,
                        const TensorView& dt_bias, TensorView g, TensorView beta) {
  for (const TensorView& view : {b, g, beta}) expect_floats(view, a.rows, a.cols);
  for (const TensorView& view : {a_log, dt_bias}) expect_floats(view, 1, a.cols);
  do_gdn_gates(a, b, a_log, dt_bias, g, beta);
}

void Backend::gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta,
                               State& state, int64_t layer, TensorView out) {
  expect_slots(state, layer);
  expect_floats(qkv, out.rows, state.shape.conv_channels());
  for (const TensorView& view : {g, beta}) expect_floats(view, qkv.rows, state.shape.value_heads);
  expect_floats(out, qkv.rows, state.shape.value_heads * state.shape.value_dim);
  do_gated_delta_rule(qkv, g, beta, state, layer, out);
}

void Backend::gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                             TensorView out) {
  expect_floats(z, x.rows, x.cols);
  expect_floats(out, x.rows, x.cols);
  TERCET_CHECK_EQ(x.cols % w.cols, 0);
  do_gated_rms_norm(x, z, w, eps, out);
}

void Backend::silu_mul(const TensorView& gate, const TensorView& up, TensorView out) {
  expect_floats(up, gate.rows, gate.cols);
  expect_floats(out, gate.rows, gate.cols);
  do_silu_mul(gate, up, out);
}

void Backend::router_topk(const TensorView& logits, TensorView index, TensorView weight) {
  TERCET_CHECK_LE(index.cols, logits.cols);
  expect(index, DType::kI32, logits.rows, index.cols);
  expect_floats(weight, logits.rows, index.cols);
  do_router_topk(logits, index, weight);
}

void Backend::moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight,
                      const Weight& gate, const Weight& up, const Weight& down, TensorView out) {
  expect(index, DType::kI32, x.rows, weight.cols);
  expect_floats(weight, x.rows, index.cols);
  expect_floats(x, out.rows, gate->cols);
  expect_floats(out, x.rows, down->rows);
  TERCET_CHECK_EQ(gate->count, up->count);
  TERCET_CHECK_EQ(gate->count, down->count);
  TERCET_CHECK_EQ(gate->rows, up->rows);
  TERCET_CHECK_EQ(gate->rows, down->cols);
  TERCET_CHECK_EQ(gate->cols, up->cols);
  do_moe_ffn(x, index, weight, *gate, *up, *down, out);
}

void Backend::add(TensorView x, const TensorView& y) {
  expect_floats(y, x.rows, x.cols);
  do_add(x, y);
}

void Backend::gather_rows(const TensorView& x, const TensorView& rows, TensorView out) {
  expect(rows, DType::kI32, out.rows, 1);
  expect_floats(out, rows.rows, x.cols);
  do_gather_rows(x, rows, out);
}

void Backend::sample(const TensorView& logits, const SamplingBatch& batch, TensorView token) {
  TERCET_CHECK_EQ(static_cast<int64_t>(batch.rows.size()), logits.rows);
  expect(token, DType::kI32, logits.rows, 1);
  do_sample(logits, batch, token);
}

void Backend::quantize_activations(const TensorView& x, int64_t group, TensorView codes, TensorView scales) {
  expect(codes, DType::kI8, x.rows, x.cols);
  expect_floats(scales, x.rows, (x.cols + group - 1) / group);
  do_quantize_activations(x, group, codes, scales);
}

void Backend::accumulate_products(const TensorView& x, const TensorView& y, float scale, TensorView out) {
  expect_floats(y, x.rows, x.cols);
  expect_floats(out, x.cols, x.cols);
  do_accumulate_products(x, y, scale, out);
}

}  // namespace tercet
