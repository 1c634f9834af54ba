#include "quant/plan.h"

#include <algorithm>

namespace tercet {
namespace {

std::vector<LinearModule> mixer_modules(LayerType type, const std::string& prefix) {
  const bool attention = type == LayerType::kGatedAttention;
  const std::string mixer = prefix + (attention ? "self_attn." : "linear_attn.");
  std::vector<LinearModule> modules;
  const std::vector<std::string> inputs = attention ? std::vector<std::string>{"q_proj", "k_proj", "v_proj"}
                                                    : std::vector<std::string>{"in_proj_qkv", "in_proj_z"};
  for (const std::string& input : inputs) modules.push_back({mixer + input, Phase::kMixerInput, -1});
  modules.push_back({mixer + (attention ? "o_proj" : "out_proj"), Phase::kMixerOutput, -1});
  return modules;
}

/// Names of modules as they are stored.
std::vector<std::string> stored_modules(const Checkpoint& source) {
  std::vector<std::string> names;
  for (const FoundTensor& found : source.inventory()) {
    for (const StoredTensor* stored : found.stored)
      names.push_back(stored->name.substr(0, stored->name.rfind('.')));
  }
  return names;
}

}  // namespace

std::vector<LinearModule> layer_modules(const ModelConfig& config, int64_t layer) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  std::vector<LinearModule> modules = mixer_modules(config.layers[static_cast<size_t>(layer)], prefix);
  const auto add = [&](Phase phase, const std::vector<std::string>& projections) {
    for (int64_t expert = 0; expert < config.experts; ++expert) {
      const std::string mlp = prefix + "mlp.experts." + std::to_string(expert) + ".";
      for (const std::string& projection : projections) modules.push_back({mlp + projection, phase, expert});
    }
    const std::string mlp = prefix + (config.is_moe() ? "mlp.shared_expert." : "mlp.");
    for (const std::string& projection : projections) modules.push_back({mlp + projection, phase, -1});
  };
  add(Phase::kFfnInput, {"gate_proj", "up_proj"});
  add(Phase::kFfnOutput, {"down_proj"});
  return modules;
}

std::vector<std::string> unused_rules(const Checkpoint& source, const Recipe& recipe) {
  const ModelConfig& config = source.config();
  std::vector<std::string> names;
  if (!config.tie_word_embeddings) names.push_back(source.disk_name("lm_head"));
  for (int64_t layer = 0; layer < config.layer_count(); ++layer) {
    for (const LinearModule& linear : layer_modules(config, layer)) {
      names.push_back(source.disk_name(linear.module));
    }
  }
  const std::vector<std::string> all = stored_modules(source);
  std::vector<std::string> unused;
  for (const RecipeRule& rule : recipe.rules()) {
    const auto meets = [&](const std::string& name) { return rule.pattern.matches(name); };
    const auto& candidates = rule.keep ? all : names;  // what is kept anyway may be named, too
    if (std::none_of(candidates.begin(), candidates.end(), meets)) unused.push_back(rule.name);
  }
  return unused;
}

std::vector<std::vector<MatrixPlan>> plan_matrices(const Checkpoint& source, const QuantizeOptions& options,
                                                   const Recipe& recipe) {
  const ModelConfig& config = source.config();
  const MatrixSettings settings{options.method, options.bits, options.group_size};
  std::vector<std::vector<MatrixPlan>> parts(static_cast<size_t>(config.layer_count() + 1));
  const auto plan = [&](const LinearModule& linear, bool by_rule_only, std::vector<MatrixPlan>& part) {
    const std::string name = source.disk_name(linear.module);
    const auto decided = recipe.decide(name, settings, by_rule_only);
    if (decided) part.push_back({linear, name, *decided});
  };
  for (int64_t layer = 0; layer < config.layer_count(); ++layer) {
    for (const LinearModule& linear : layer_modules(config, layer)) {
      plan(linear, false, parts[static_cast<size_t>(layer)]);
    }
  }
  if (!config.tie_word_embeddings) plan({"lm_head", Phase::kHead, -1}, !options.all_linears, parts.back());
  return parts;
}

std::string local_name(const std::string& module) {
  if (!module.starts_with("layers.")) return module;
  return module.substr(module.find('.', std::string("layers.").size()) + 1);
}

}  // namespace tercet
