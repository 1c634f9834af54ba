#include "quant/ffn_statistics.h"

#include <algorithm>
#include <numeric>

namespace tercet {
namespace {

int64_t inner_width(const ModelConfig& config) {
  return config.is_moe() ? std::max(config.expert_width, config.shared_width) : config.dense_width;
}

}  // namespace

TokenWeights weigh_tokens(int64_t samples, int64_t tokens, const FallbackThreshold& threshold) {
  const int64_t wanted = threshold.tokens(tokens);
  TokenWeights weights;
  weights.samples = samples;
  if (samples >= wanted && samples > 0) {
    weights.own = 1.0F / static_cast<float>(samples);
  } else if (tokens < std::max<int64_t>(wanted, 1)) {
    weights.shortage = std::to_string(tokens) + " calibration tokens, fewer than " + std::to_string(wanted);
    weights.own = samples > 0 ? 1.0F / static_cast<float>(samples) : 0;
  } else {  // then there are others
    const int64_t filled = std::max<int64_t>(wanted, 1);
    weights.own = 1.0F / static_cast<float>(filled);
    weights.other = weights.own * static_cast<float>(filled - samples) / static_cast<float>(tokens - samples);
  }
  return weights;
}

FfnStatistics::FfnStatistics(WindowRunner& runner, const Stream& plain, const Stream& quantized,
                             const Constant& gain, bool cross)
    : runner_(runner),
      plain_(plain),
      quantized_(quantized),
      gain_(gain),
      cross_(cross),
      width_(inner_width(runner.config())) {
  const int64_t rows = runner.workspace().hidden.rows;
  const int64_t hidden = runner.config().hidden_size;
  x_ = x_rows_ = quantized_rows_ = {nullptr, DType::kF32, rows, hidden};
  gate_ = up_ = act_ = quantized_act_ = {nullptr, DType::kF32, rows, width_};
  index_ = {nullptr, DType::kI32, rows, 1};
  const std::vector<TensorView*> views = {&x_,  &x_rows_, &quantized_rows_, &gate_,
                                          &up_, &act_,    &quantized_act_,  &index_};
  int64_t bytes = 0;
  for (const TensorView* view : views) bytes += view->bytes();
  buffer_ = runner.backend().allocate(bytes);
  char* next = static_cast<char*>(buffer_.get());
  for (TensorView* view : views) {
    view->data = next;
    next += view->bytes();
  }
}

TensorView FfnStatistics::normed(const Stream& stream, const Chunk& chunk, const TensorView& out) {
  const float eps = static_cast<float>(runner_.config().rms_norm_eps);
  const TensorView rows = out.first_rows(chunk.rows);
  runner_.backend().rms_norm(runner_.load(stream, chunk), gain_.view, eps, true, rows);
  return rows;
}

std::vector<int64_t> FfnStatistics::route(const Weight& router) {
  const ModelConfig& config = runner_.config();
  Workspace& ws = runner_.workspace();
  Backend& ops = runner_.backend();
  routing_.resize(static_cast<size_t>(runner_.tokens() * config.top_k));
  runner_.each_chunk([&](const Chunk& chunk) {
    const TensorView logits = ws.router_logits.first_rows(chunk.rows);
    const TensorView index = ws.expert_index.first_rows(chunk.rows);
    ops.linear(normed(quantized_, chunk, ws.normed), router, logits);
    ops.router_topk(logits, index, ws.expert_weight.first_rows(chunk.rows));
    ops.download(routing_.data() + chunk.first * config.top_k, index.data, index.bytes());
  });
  std::vector<int64_t> tokens(static_cast<size_t>(config.experts));
  for (const int32_t expert : routing_) ++tokens[static_cast<size_t>(expert)];
  return tokens;
}

std::vector<int32_t> FfnStatistics::rows_of_expert(int64_t expert, const Chunk& chunk, bool routed) const {
  const int64_t top_k = runner_.config().top_k;
  std::vector<int32_t> rows;
  for (int64_t t = 0; t < chunk.rows; ++t) {
    const auto first = routing_.begin() + (chunk.first + t) * top_k;
    const bool own = std::find(first, first + top_k, static_cast<int32_t>(expert)) != first + top_k;
    if (own == routed) rows.push_back(static_cast<int32_t>(t));
  }
  return rows;
}

void FfnStatistics::collect(std::vector<FfnSubject>& subjects) {
  runner_.each_chunk([&](const Chunk& chunk) {
    if (cross_) normed(plain_, chunk, x_);
    normed(quantized_, chunk, runner_.workspace().normed);
    for (FfnSubject& subject : subjects) collect_chunk(subject, chunk);
  });
}

void FfnStatistics::collect_chunk(FfnSubject& subject, const Chunk& chunk) {
  if (subject.expert < 0) return add(subject, {}, chunk.rows, subject.weights.own);
  for (const bool routed : {true, false}) {
    const float scale = routed ? subject.weights.own : subject.weights.other;
    if (scale == 0) continue;
    const std::vector<int32_t> rows = rows_of_expert(subject.expert, chunk, routed);
    if (!rows.empty()) add(subject, rows, static_cast<int64_t>(rows.size()), scale);
  }
}

void FfnStatistics::add(FfnSubject& subject, const std::vector<int32_t>& rows, int64_t count, float scale) {
  Backend& ops = runner_.backend();
  TensorView x = x_.first_rows(count);
  TensorView quantized = runner_.workspace().normed.first_rows(count);
  if (!rows.empty()) {
    const TensorView index = index_.first_rows(count);
    ops.upload(index.data, rows.data(), index.bytes());
    ops.gather_rows(runner_.workspace().normed, index, quantized_rows_.first_rows(count));
    quantized = quantized_rows_.first_rows(count);
    if (cross_) {
      ops.gather_rows(x_, index, x_rows_.first_rows(count));
      x = x_rows_.first_rows(count);
    }
  }
  const TensorView quantized_input = inner(subject.quantized, quantized, quantized_act_);
  subject.sums.add(ops, cross_ ? inner(subject.plain, x, act_) : TensorView{}, quantized_input, scale);
}

/// silu(gate x) * up x, the input of down; x itself where there are no weights.
TensorView FfnStatistics::inner(const std::optional<GateUp>& weights, const TensorView& x,
                                const TensorView& out) {
  if (!weights) return x;
  Backend& ops = runner_.backend();
  const auto cut = [&](const TensorView& view) {
    return TensorView{view.data, view.dtype, x.rows, weights->gate->rows};
  };
  ops.linear(x, weights->gate, cut(gate_));
  ops.linear(x, weights->up, cut(up_));
  ops.silu_mul(cut(gate_), cut(up_), cut(out));
  return cut(out);
}

}  // namespace tercet
