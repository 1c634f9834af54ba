#include "quant/audit.h"

#include <algorithm>
#include <span>

#include "quant/window_runner.h"

namespace tercet {
namespace {

constexpr int kLanes = WindowRunner::kLanes;

/// Logits of a few rows of both models on the host, compared.
class HeadComparison {
 public:
  HeadComparison(Backend& backend, const WeightSource* const (&models)[kLanes], ThreadPool& pool)
      : backend_(backend), pool_(pool), config_(models[0]->config()) {
    for (int lane = 0; lane < kLanes; ++lane) {
      norms_[lane] = make_constant(backend, models[lane]->values("norm.weight"), 1, config_.hidden_size);
      heads_[lane] = bind_matrix(backend, *models[lane], "lm_head");
      models[lane]->drop_pages();
    }
  }

  void compare(WindowRunner& runner, const Stream (&streams)[kLanes], const Chunk& chunk,
               Divergence& divergence) {
    const int64_t first = chunk.first;
    for (int64_t begin = 0; begin < chunk.rows; begin += WindowRunner::kLogitRows) {
      const Chunk part{first + begin, std::min(WindowRunner::kLogitRows, chunk.rows - begin)};
      for (int lane = 0; lane < kLanes; ++lane) logits(lane, runner, streams[lane], part);
      std::vector<PositionComparison> positions(static_cast<size_t>(part.rows));
      pool_.parallel_for(part.rows, [&](int64_t from, int64_t to, int) {
        for (int64_t r = from; r < to; ++r)
          positions[static_cast<size_t>(r)] = compare_logits(row(0, r), row(1, r));
      });
      for (const PositionComparison& position : positions) divergence.add(position);
    }
  }

 private:
  void logits(int lane, WindowRunner& runner, const Stream& stream, const Chunk& chunk) {
    const TensorView normed = runner.workspace().normed.first_rows(chunk.rows);
    const TensorView out = runner.workspace().logits.first_rows(chunk.rows);
    const float eps = static_cast<float>(config_.rms_norm_eps);
    backend_.rms_norm(runner.load(stream, chunk), norms_[lane].view, eps, true, normed);
    backend_.linear(normed, heads_[lane], out);
    logits_[lane].resize(static_cast<size_t>(out.count()));
    backend_.download(logits_[lane].data(), out.data, out.bytes());
  }

  std::span<const float> row(int lane, int64_t r) const {
    const size_t vocab = static_cast<size_t>(config_.vocab_size);
    return {logits_[lane].data() + static_cast<size_t>(r) * vocab, vocab};
  }

  Backend& backend_;
  ThreadPool& pool_;
  const ModelConfig& config_;
  Constant norms_[kLanes];
  Weight heads_[kLanes];
  std::vector<float> logits_[kLanes];
};

}  // namespace

Divergence measure_divergence(Backend& backend, const WeightSource& reference, const WeightSource& model,
                              const std::vector<std::vector<int32_t>>& windows, ThreadPool& pool) {
  const WeightSource* const models[kLanes] = {&reference, &model};
  WindowRunner runner(backend, reference.config(), windows);
  Stream streams[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    streams[lane] = runner.embed(bind_matrix(backend, *models[lane], "embed_tokens"));
  }
  for (int64_t layer = 0; layer < reference.config().layer_count(); ++layer) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const LayerWeights weights = bind_layer(backend, *models[lane], layer);
      models[lane]->drop_pages();
      runner.advance_mixer(lane, weights, layer, streams[lane]);
      runner.advance_ffn(lane, weights, layer, streams[lane]);
    }
  }
  HeadComparison head(backend, models, pool);
  Divergence divergence;
  runner.each_chunk([&](const Chunk& chunk) { head.compare(runner, streams, chunk, divergence); });
  return divergence;
}

}  // namespace tercet
