#include "quant/layer_quantizer.h"

#include <algorithm>

namespace tercet {
namespace {

std::vector<MatrixPlan> of_phase(const std::vector<MatrixPlan>& plan, Phase phase) {
  std::vector<MatrixPlan> matrices;
  for (const MatrixPlan& matrix : plan) {
    if (matrix.linear.phase == phase) matrices.push_back(matrix);
  }
  return matrices;
}

/// Cuts into runs of matrices with the same expert.
std::vector<std::vector<MatrixPlan>> by_expert(const std::vector<MatrixPlan>& matrices) {
  std::vector<std::vector<MatrixPlan>> runs;
  for (const MatrixPlan& matrix : matrices) {
    if (runs.empty() || runs.back().front().linear.expert != matrix.linear.expert) runs.emplace_back();
    runs.back().push_back(matrix);
  }
  return runs;
}

/// Copies the input of the mixer's output projection out of the step.
class MixerOutput final : public Observer {
 public:
  void observe(Tap tap, int64_t, const TensorView& value) override {
    if (tap == Tap::kMixerOutput) value_ = value;
  }
  const TensorView& value() const { return value_; }

 private:
  TensorView value_;
};

/// Inputs of a feed-forward matrix.
int64_t width_of(const ModelConfig& config, const LinearModule& linear) {
  if (linear.phase == Phase::kFfnInput) return config.hidden_size;
  if (linear.expert >= 0) return config.expert_width;
  return config.is_moe() ? config.shared_width : config.dense_width;
}

std::string mlp_of(const std::string& module) {
  return module.substr(0, module.rfind('.') + 1);
}

GateUp bind_gate_up(Backend& backend, const WeightSource& source, const std::string& mlp) {
  return {bind_matrix(backend, source, mlp + "gate_proj"), bind_matrix(backend, source, mlp + "up_proj")};
}

}  // namespace

LayerQuantizer::LayerQuantizer(Backend& backend, const WeightSource& source, const QuantizeOptions& options,
                               const std::vector<std::vector<int32_t>>& windows)
    : backend_(backend), source_(source), options_(options), mixed_(source), pool_(options.threads) {
  if (windows.empty()) return;
  runner_.emplace(backend, source.config(), windows);
  const Weight table = bind_matrix(backend, source, "embed_tokens");
  streams_[kQuantized] = runner_->embed(table);
  if (cross()) streams_[kPlain] = streams_[kQuantized];
  source.drop_pages();
}

Constant LayerQuantizer::norm(const std::string& tensor) const {
  return make_constant(backend_, source_.values(tensor), 1, source_.config().hidden_size);
}

void LayerQuantizer::forget() {
  mixed_.clear();
  source_.drop_pages();
}

SolveGroup LayerQuantizer::group(std::vector<MatrixPlan> matrices, const InputSums* sums,
                                 int64_t samples) const {
  SolveGroup group;
  group.matrices = std::move(matrices);
  if (sums == nullptr) return group;
  group.samples = samples;
  group.statistics = [this, sums] { return sums->download(backend_); };
  return group;
}

void LayerQuantizer::solve(const std::vector<SolveGroup>& groups, Part& part) {
  for (SolvedMatrix& solved : solve_groups(source_, groups, options_, pool_)) {
    mixed_.put(solved.result.module, std::move(solved.matrix));
    part.results.push_back(std::move(solved.result));
  }
}

/// Matrices that read the normed hidden state of every token.
void LayerQuantizer::normed_inputs(std::vector<MatrixPlan> matrices, const Constant& gain, Part& part) {
  if (matrices.empty()) return;
  if (!calibrated()) return solve({group(std::move(matrices), nullptr, 0)}, part);
  FfnStatistics statistics(*runner_, streams_[kPlain], streams_[kQuantized], gain, cross());
  const TokenWeights weights =
      weigh_tokens(runner_->tokens(), runner_->tokens(), options_.fallback_threshold);
  std::vector<FfnSubject> subjects;
  subjects.push_back({.expert = -1,
                      .weights = weights,
                      .sums = InputSums(backend_, source_.config().hidden_size, cross()),
                      .plain = {},
                      .quantized = {}});
  statistics.collect(subjects);
  SolveGroup all = group(std::move(matrices), &subjects.front().sums, weights.samples);
  all.shortage = weights.shortage;
  solve({all}, part);
}

void LayerQuantizer::mixer_outputs(int64_t layer, std::vector<MatrixPlan> matrices, Part& part) {
  if (matrices.empty()) return;
  if (!calibrated()) return solve({group(std::move(matrices), nullptr, 0)}, part);
  const LayerWeights quantized = bind_layer(backend_, mixed_, layer);
  const TokenWeights weights =
      weigh_tokens(runner_->tokens(), runner_->tokens(), options_.fallback_threshold);
  std::optional<InputSums> sums;
  Buffer buffer;
  runner_->each_chunk([&](const Chunk& chunk) {
    MixerOutput output;
    TensorView plain;
    if (cross()) {
      StepContext context = runner_->context(kPlain, chunk, &output);
      runner_->load(streams_[kPlain], chunk);
      add_mixer(context, *plain_, layer, 0);
      plain = output.value();
      if (buffer == nullptr) buffer = backend_.allocate(plain.bytes());
      std::vector<float> rows(static_cast<size_t>(plain.count()));
      backend_.download(rows.data(), plain.data, plain.bytes());
      plain.data = buffer.get();
      backend_.upload(plain.data, rows.data(), plain.bytes());
    }
    StepContext context = runner_->context(kQuantized, chunk, &output);
    runner_->load(streams_[kQuantized], chunk);
    add_mixer(context, quantized, layer, 0);
    if (!sums) sums.emplace(backend_, output.value().cols, cross());
    sums->add(backend_, plain, output.value(), weights.own);
  });
  SolveGroup all = group(std::move(matrices), &*sums, weights.samples);
  all.shortage = weights.shortage;
  solve({all}, part);
}

void LayerQuantizer::advance_mixers(int64_t layer) {
  if (cross()) runner_->advance_mixer(kPlain, *plain_, layer, streams_[kPlain]);
  runner_->advance_mixer(kQuantized, bind_layer(backend_, mixed_, layer), layer, streams_[kQuantized]);
}

void LayerQuantizer::advance_ffns(int64_t layer) {
  if (cross()) runner_->advance_ffn(kPlain, *plain_, layer, streams_[kPlain]);
  runner_->advance_ffn(kQuantized, bind_layer(backend_, mixed_, layer), layer, streams_[kQuantized]);
}

/// gate and up of all experts, or down, in batches of experts whose sums take no more memory than the
/// streams.
void LayerQuantizer::feed_forward(std::optional<FfnStatistics>& statistics,
                                  const std::vector<MatrixPlan>& matrices, Part& part) {
  const auto runs = by_expert(matrices);
  if (!calibrated()) {
    std::vector<SolveGroup> groups;
    for (const auto& run : runs) groups.push_back(group(run, nullptr, 0));
    return solve(groups, part);
  }
  const int64_t budget = 2 * static_cast<int64_t>(streams_[kQuantized].size() * sizeof(float));
  for (size_t begin = 0; begin < runs.size();) {
    std::vector<FfnSubject> subjects;
    std::vector<SolveGroup> groups;
    int64_t bytes = 0;
    size_t end = begin;
    for (; end < runs.size(); ++end) {
      const LinearModule& linear = runs[end].front().linear;
      bytes += InputSums::bytes(width_of(source_.config(), linear), cross());
      if (end > begin && bytes > budget) break;
      subjects.push_back(subject(linear, part));
    }
    statistics->collect(subjects);
    for (size_t i = 0; i < subjects.size(); ++i) {
      groups.push_back(group(runs[begin + i], &subjects[i].sums, subjects[i].weights.samples));
      groups.back().shortage = subjects[i].weights.shortage;
    }
    solve(groups, part);
    begin = end;
  }
}

FfnSubject LayerQuantizer::subject(const LinearModule& linear, const Part& part) const {
  const int64_t tokens = runner_->tokens();
  const int64_t samples = linear.expert < 0 ? tokens : part.expert_tokens[static_cast<size_t>(linear.expert)];
  FfnSubject subject{.expert = linear.expert,
                     .weights = weigh_tokens(samples, tokens, options_.fallback_threshold),
                     .sums = InputSums(backend_, width_of(source_.config(), linear), cross()),
                     .plain = {},
                     .quantized = {}};
  if (linear.phase == Phase::kFfnOutput) {
    const std::string mlp = mlp_of(linear.module);
    if (cross()) subject.plain = bind_gate_up(backend_, source_, mlp);
    subject.quantized = bind_gate_up(backend_, mixed_, mlp);
  }
  return subject;
}

LayerQuantizer::Part LayerQuantizer::layer(int64_t layer, const std::vector<MatrixPlan>& plan) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  Part part;
  if (calibrated() && cross()) plain_ = bind_layer(backend_, source_, layer);
  normed_inputs(of_phase(plan, Phase::kMixerInput), norm(prefix + "input_layernorm.weight"), part);
  mixer_outputs(layer, of_phase(plan, Phase::kMixerOutput), part);
  const Constant gain = norm(prefix + "post_attention_layernorm.weight");
  std::optional<FfnStatistics> statistics;
  if (calibrated()) {
    advance_mixers(layer);
    statistics.emplace(*runner_, streams_[kPlain], streams_[kQuantized], gain, cross());
    if (source_.config().is_moe()) {
      part.expert_tokens = statistics->route(bind_matrix(backend_, source_, prefix + "mlp.gate"));
    }
  }
  feed_forward(statistics, of_phase(plan, Phase::kFfnInput), part);
  feed_forward(statistics, of_phase(plan, Phase::kFfnOutput), part);
  statistics.reset();
  if (calibrated()) advance_ffns(layer);
  plain_.reset();
  return part;
}

void LayerQuantizer::skip(int64_t layer) {
  if (!calibrated()) return;
  if (cross()) plain_ = bind_layer(backend_, source_, layer);
  advance_mixers(layer);
  advance_ffns(layer);
  plain_.reset();
}

LayerQuantizer::Part LayerQuantizer::head(const std::vector<MatrixPlan>& plan) {
  Part part;
  normed_inputs(plan, norm("norm.weight"), part);
  return part;
}

}  // namespace tercet
