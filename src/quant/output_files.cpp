#include "quant/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/strict_json.h"
#include "quant/shards.h"
#include "quant/staging.h"

namespace tercet {
namespace {

using json = nlohmann::ordered_json;

constexpr int64_t kMaxConfigBytes = 16'000'000;

/// `name` as a regular expression that matches it alone.
std::string exactly(const std::string& name) {
  std::string expression;
  for (const char c : name) expression += c == '.' ? std::string("\\.") : std::string(1, c);
  return expression + "$";
}

std::string module_of(const FoundTensor& found) {
  const std::string& name = found.stored.front()->name;
  return name.substr(0, name.rfind('.'));
}

/// GPTQModel's `dynamic`. Rules that keep come first: readers differ in whether they look for those first.
class DynamicRules {
 public:
  DynamicRules(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan)
      : source_(source), integers_(kept_integers(source, plan)) {}

  /// Says that modules are floats; those among them that are integers, kept from the source, must not be
  /// named: then the others are, one by one.
  void keep(const std::string& expression) {
    const Pattern pattern(expression, "recipe");
    const bool clean = std::none_of(integers_.begin(), integers_.end(), [&](const FoundTensor& found) {
      return pattern.matches(module_of(found));
    });
    if (clean) return add("-:" + expression);
    for (const FoundTensor& found : source_.inventory()) {
      if (!found.packed && pattern.matches(module_of(found))) add("-:" + exactly(module_of(found)));
    }
  }
  void keep_integers() {
    for (const FoundTensor& found : integers_) {
      rules_["+:" + exactly(module_of(found))] = {
          {"bits", found.packed->bits}, {"group_size", found.packed->group_size}, {"sym", found.packed->sym}};
    }
  }
  void override_by(const RecipeRule& rule) {
    json& values = rules_["+:" + rule.pattern.expression()] = json::object();
    if (rule.bits) values["bits"] = *rule.bits;
    if (rule.group_size) values["group_size"] = *rule.group_size;
  }
  const json& rules() const { return rules_; }

 private:
  void add(const std::string& rule) { rules_[rule] = json::object(); }

  const Checkpoint& source_;
  std::vector<FoundTensor> integers_;
  json rules_ = json::object();
};

json dynamic_rules(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan,
                   const Recipe& recipe) {
  DynamicRules rules(source, plan);
  const ModelConfig& config = source.config();
  if (config.mtp_layers > 0) rules.keep(".*mtp\\..*");
  if (config.vision) rules.keep(".*visual\\..*");
  if (plan.back().empty()) rules.keep("lm_head");
  if (config.is_moe()) {
    rules.keep(".*mlp\\.gate$");
    rules.keep(".*shared_expert_gate$");
  }
  rules.keep(".*in_proj_(a|b|ba)$");
  for (const RecipeRule& rule : recipe.rules()) {
    if (rule.keep) rules.keep(rule.pattern.expression());
  }
  rules.keep_integers();
  for (const RecipeRule& rule : recipe.rules()) {
    if (!rule.keep) rules.override_by(rule);
  }
  return rules.rules();
}

/// Whether a matrix is written whose groups follow the order of its columns.
bool any_ordered(const std::vector<std::vector<MatrixPlan>>& plan, const QuantizeOptions& options) {
  return options.desc_act && std::any_of(plan.begin(), plan.end(), [](const std::vector<MatrixPlan>& part) {
           return std::any_of(part.begin(), part.end(), [](const MatrixPlan& matrix) {
             return matrix.settings.method == QuantizeMethod::kGptq;
           });
         });
}

json quantization_config(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan,
                         const QuantizeOptions& options, const Recipe& recipe) {
  const std::string format = options.gptq_v1 ? "gptq" : "gptq_v2";
  const std::vector<FoundTensor> kept = kept_integers(source, plan);
  const bool desc_act = any_ordered(plan, options) || (!kept.empty() && source.quantization()->desc_act);
  const bool head =
      !plan.back().empty() || std::any_of(kept.begin(), kept.end(), [](const FoundTensor& found) {
        return found.spec->kind == TensorKind::kHead;
      });
  return {{"bits", options.bits},
          {"group_size", options.group_size},
          {"desc_act", desc_act},
          {"sym", options.symmetric},
          {"lm_head", head},
          {"quant_method", "gptq"},
          {"method", "gptq"},
          {"checkpoint_format", format},
          {"format", format},
          {"pack_dtype", "int32"},
          {"dynamic", dynamic_rules(source, plan, recipe)},
          {"meta",
           {{"quantizer", json::array({"tercet:0.1.0"})},
            {"method", to_string(options.method)},
            {"static_groups", !desc_act},
            {"true_sequential", options.method == QuantizeMethod::kGptq},
            {"damp_percent", options.damp},
            {"damp_auto_increment", 0.01},
            {"corrected_target", options.corrected_target},
            {"refit_rounds", options.refit_rounds}}}};
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

void write_config(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan,
                  const QuantizeOptions& options, const Recipe& recipe, const std::string& folder) {
  const std::string path = source.folder() + "/config.json";
  json config = parse_strict_json(read_text_file(path, kMaxConfigBytes), path);
  if (config.contains("text_config") && config["text_config"].is_object()) {
    config["text_config"].erase("quantization_config");
  }
  const json quantization = quantization_config(source, plan, options, recipe);
  config["quantization_config"] = quantization;
  write_text_file(folder + "/config.json", config.dump(2) + "\n");
  write_text_file(folder + "/quantize_config.json", quantization.dump(2) + "\n");
}

void copy_companions(const std::string& from, const std::string& to) {
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "special_tokens_map.json",
        "added_tokens.json", "chat_template.jinja", "chat_template.json", "generation_config.json",
        "preprocessor_config.json", "video_preprocessor_config.json", "processor_config.json", "LICENSE"}) {
    const std::filesystem::path file = std::filesystem::path(from) / name;
    if (!std::filesystem::exists(file)) continue;
    std::filesystem::copy_file(file, std::filesystem::path(to) / name,
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(std::filesystem::path(to) / name, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
  }
}

std::string quant_log(const std::vector<MatrixResult>& results, int64_t layers) {
  std::string text = "layer,module,loss,samples,damp,time,method,fallback_reason\n";
  for (const MatrixResult& result : results) {
    const bool in_layer = result.module.starts_with("layers.");
    const int64_t layer = in_layer ? std::stoll(result.module.substr(std::string("layers.").size())) : layers;
    text += fmt::format("{},{},{:.10f},{},{:.5f},{:.3f},{},{}\n", layer, quoted(local_name(result.module)),
                        result.loss, result.samples, result.damp, result.seconds, to_string(result.method),
                        quoted(result.fallback_reason));
  }
  return text;
}

}  // namespace tercet
