#include "quant/output_files.h"

#include <fmt/format.h>

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

/// Rules that keep come first: readers differ in whether they look for those first.
json dynamic_rules(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan,
                   const Recipe& recipe) {
  json rules = json::object();
  const ModelConfig& config = source.config();
  const auto keep = [&](const std::string& pattern) { rules["-:" + pattern] = json::object(); };
  if (config.mtp_layers > 0) keep(".*mtp\\..*");
  if (config.vision) keep(".*visual\\..*");
  if (plan.back().empty()) keep("lm_head");
  if (config.is_moe()) {
    keep(".*mlp\\.gate$");
    keep(".*shared_expert_gate$");
  }
  keep(".*in_proj_(a|b|ba)$");
  for (const RecipeRule& rule : recipe.rules()) {
    if (rule.keep) keep(rule.pattern.expression());
  }
  for (const FoundTensor& found : kept_integers(source, plan)) {
    const std::string name = found.stored.front()->name;
    rules["+:" + exactly(name.substr(0, name.rfind('.')))] = {
        {"bits", found.packed->bits}, {"group_size", found.packed->group_size}, {"sym", found.packed->sym}};
  }
  for (const RecipeRule& rule : recipe.rules()) {
    if (rule.keep) continue;
    json& values = rules["+:" + rule.pattern.expression()] = json::object();
    if (rule.bits) values["bits"] = *rule.bits;
    if (rule.group_size) values["group_size"] = *rule.group_size;
  }
  return rules;
}

json quantization_config(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan,
                         const QuantizeOptions& options, const Recipe& recipe) {
  const std::string format = options.gptq_v1 ? "gptq" : "gptq_v2";
  const bool desc_act = options.desc_act && options.method == QuantizeMethod::kGptq;
  return {{"bits", options.bits},
          {"group_size", options.group_size},
          {"desc_act", desc_act},
          {"sym", options.symmetric},
          {"lm_head", !plan.back().empty()},
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
  if (config.contains("text_config")) config["text_config"].erase("quantization_config");
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
