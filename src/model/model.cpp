#include "model/model.h"

namespace tercet {

std::vector<int64_t> state_layers(const ModelConfig& config) {
  std::vector<int64_t> places;
  int64_t attention = 0;
  int64_t gdn = 0;
  for (const LayerType type : config.layers) {
    places.push_back(type == LayerType::kGatedAttention ? attention++ : gdn++);
  }
  return places;
}

Model::Model(Backend& backend, const ModelConfig& config, ModelWeights weights, const StepSize& size)
    : backend_(backend),
      config_(config),
      weights_(std::move(weights)),
      workspace_(backend, config, size),
      inverse_frequencies_(rope_frequencies(backend, config)),
      state_layers_(state_layers(config)) {
  backend_.plan(step_limits(config, size));
}

StepContext Model::begin(const Step& step, State& state, Observer* observer) {
  backend_.begin_step(step);
  return {backend_, config_, workspace_, state, inverse_frequencies_, step.rows(), observer};
}

TensorView Model::head(const TensorView& normed, int64_t logit_rows) {
  const TensorView last = workspace_.last_hidden.first_rows(logit_rows);
  const TensorView logits = workspace_.logits.first_rows(logit_rows);
  backend_.gather_rows(normed, backend_.logit_rows(), last);
  backend_.linear(last, weights_.lm_head, logits);
  return logits;
}

TensorView Model::forward(const Step& step, State& state, Observer* observer) {
  StepContext context = begin(step, state, observer);
  const TensorView hidden = workspace_.hidden.first_rows(context.rows);
  const TensorView normed = workspace_.normed.first_rows(context.rows);
  backend_.embed(backend_.tokens(), weights_.embed_tokens, hidden);
  if (observer != nullptr) observer->observe(Tap::kEmbedding, -1, hidden);
  for (int64_t i = 0; i < config_.layer_count(); ++i) {
    decoder_layer(context, weights_.layers[static_cast<size_t>(i)], i, state_layers_[static_cast<size_t>(i)]);
  }
  backend_.rms_norm(hidden, weights_.norm.view, static_cast<float>(config_.rms_norm_eps), true, normed);
  if (observer != nullptr) observer->observe(Tap::kFinalNorm, -1, normed);
  return head(normed, static_cast<int64_t>(step.logit_rows.size()));
}

TensorView Model::forward_mtp(const Step& step, const TensorView& hidden, State& state) {
  TERCET_CHECK(has_mtp());
  const MtpWeights& mtp = weights_.mtp.front();
  const float eps = static_cast<float>(config_.rms_norm_eps);
  StepContext context = begin(step, state, nullptr);
  const TensorView x = workspace_.hidden.first_rows(context.rows);
  const TensorView normed = workspace_.normed.first_rows(context.rows);
  const TensorView branch = workspace_.branch.first_rows(context.rows);

  backend_.rms_norm(hidden, mtp.pre_fc_norm_hidden.view, eps, true, normed);
  backend_.linear(normed, mtp.fc_hidden, branch);
  backend_.embed(backend_.tokens(), weights_.embed_tokens, x);
  backend_.rms_norm(x, mtp.pre_fc_norm_embedding.view, eps, true, normed);
  backend_.linear(normed, mtp.fc_embedding, x);
  backend_.add(x, branch);
  decoder_layer(context, mtp.layer, config_.layer_count(), state.shape.attention_layers - 1);
  backend_.rms_norm(x, mtp.norm.view, eps, true, normed);
  return head(normed, static_cast<int64_t>(step.logit_rows.size()));
}

}  // namespace tercet
