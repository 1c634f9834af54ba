#include "quant/records.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "checkpoint/strict_json.h"
#include "quant/staging.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr const char* kAuditName = "quant_audit.json";
constexpr const char* kLogName = "quant_log.csv";

/// Name and SHA-256 of the files of a folder, by name.
json file_hashes(const std::string& folder, const std::vector<std::string>& left_out) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool wanted = std::find(left_out.begin(), left_out.end(), name) == left_out.end();
    if (entry.is_regular_file() && wanted) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  json hashes = json::object();
  for (const std::string& name : names) hashes[name] = sha256_of_file(folder + "/" + name);
  return hashes;
}

json source_hashes(const Checkpoint& source) {
  json hashes = {{"config.json", sha256_of_file(source.folder() + "/config.json")}};
  for (const SafetensorsFile& file : source.tensors().files()) {
    hashes[fs::path(file.path()).filename()] = sha256_of_file(file.path());
  }
  return hashes;
}

/// Of token windows, each led by its length, as little-endian 32-bit integers.
std::string sha256_of_windows(const std::vector<std::vector<int32_t>>& windows) {
  Sha256 hash;
  for (const std::vector<int32_t>& window : windows) {
    const int32_t length = static_cast<int32_t>(window.size());
    hash.add(std::as_bytes(std::span(&length, 1)));
    hash.add(std::as_bytes(std::span(window)));
  }
  return hash.hex();
}

json to_json(const MatrixResult& result) {
  return {{"module", result.module},
          {"name", result.disk_name},
          {"method", to_string(result.method)},
          {"bits", result.bits},
          {"group_size", result.group_size},
          {"loss", result.loss},
          {"rtn_loss", result.rtn_loss},
          {"relative_error", result.relative_error},
          {"samples", result.samples},
          {"damp", result.damp},
          {"seconds", result.seconds},
          {"fallback_reason", result.fallback_reason}};
}

MatrixResult result_from_json(const json& tree) {
  MatrixResult result;
  result.module = tree.at("module");
  result.disk_name = tree.at("name");
  result.method = quantize_method(tree.at("method"));
  result.bits = tree.at("bits");
  result.group_size = tree.at("group_size");
  result.loss = tree.at("loss");
  result.rtn_loss = tree.at("rtn_loss");
  result.relative_error = tree.at("relative_error");
  result.samples = tree.at("samples");
  result.damp = tree.at("damp");
  result.seconds = tree.at("seconds");
  result.fallback_reason = tree.at("fallback_reason");
  return result;
}

json describe_divergence(const Divergence& divergence) {
  if (divergence.positions() == 0) return nullptr;
  const KlSummary kl = divergence.kl();
  return {
      {"tokens", divergence.positions()},
      {"kl", {{"mean", kl.mean}, {"median", kl.median}, {"p99", kl.p99}, {"p999", kl.p999}, {"max", kl.max}}},
      {"top1", divergence.top1()},
      {"top5", divergence.top5()}};
}

/// Bits as the command-line contract counts them.
void count_bits(const std::string& folder, QuantizeReport& report) {
  const auto checkpoint = Checkpoint::open(folder);
  int64_t text_bytes = 0, text_weights = 0, quantized_bytes = 0, quantized_weights = 0;
  for (const FoundTensor& found : checkpoint->inventory()) {
    int64_t bytes = 0;
    for (const StoredTensor* stored : found.stored) bytes += stored->bytes;
    report.bytes += bytes;
    const std::string& component = found.spec->component;
    if (component == "mtp" || component == "vision") continue;
    text_bytes += bytes;
    text_weights += found.parameters;
    if (!found.packed) continue;
    quantized_bytes += bytes - found.stored.back()->bytes;  // g_idx can be derived
    quantized_weights += found.parameters;
  }
  report.bits_per_weight = 8.0 * static_cast<double>(text_bytes) / static_cast<double>(text_weights);
  if (quantized_weights > 0) {
    report.quantized_bits_per_weight =
        8.0 * static_cast<double>(quantized_bytes) / static_cast<double>(quantized_weights);
  }
}

}  // namespace

json describe_run(const Checkpoint& source, const QuantizeOptions& options,
                  const CalibrationData& calibration) {
  const FallbackThreshold& threshold = options.fallback_threshold;
  json run;
  run["options"] = {{"method", to_string(options.method)},
                    {"bits", options.bits},
                    {"group_size", options.group_size},
                    {"symmetric", options.symmetric},
                    {"scale_search", options.scale_search},
                    {"desc_act", options.desc_act},
                    {"corrected_target", options.corrected_target},
                    {"refit_rounds", options.refit_rounds},
                    {"damp", options.damp},
                    {"fallback_threshold", threshold.value},
                    {"fallback_threshold_is_share", threshold.share},
                    {"all_linears", options.all_linears},
                    {"gptq_v1", options.gptq_v1}};
  run["recipe"] = options.recipe.empty() ? json(nullptr) : parse_strict_json(options.recipe, "recipe");
  run["calibration"] = {{"sha256", calibration.sha256},
                        {"windows", calibration.windows.size()},
                        {"length", calibration.windows.empty() ? 0 : calibration.windows.front().size()},
                        {"windows_sha256", sha256_of_windows(calibration.windows)},
                        {"audit_windows_sha256", sha256_of_windows(calibration.audit_windows)}};
  run["input"] = source_hashes(source);
  return run;
}

json to_json(const LayerQuantizer::Part& part) {
  json results = json::array();
  for (const MatrixResult& result : part.results) results.push_back(to_json(result));
  return {{"results", results}, {"expert_tokens", part.expert_tokens}};
}

LayerQuantizer::Part part_from_json(const json& tree) {
  LayerQuantizer::Part part;
  for (const json& result : tree.at("results")) part.results.push_back(result_from_json(result));
  part.expert_tokens = tree.at("expert_tokens").get<std::vector<int64_t>>();
  return part;
}

std::string audit_text(const json& run, const std::vector<LayerQuantizer::Part>& parts,
                       const Divergence& divergence, const std::string& output_folder) {
  json audit = {{"run", run}};
  audit["output"] = file_hashes(output_folder, {kAuditName, kLogName});
  audit["divergence"] = describe_divergence(divergence);
  audit["expert_tokens"] = json::array();
  audit["matrices"] = json::array();
  for (const LayerQuantizer::Part& part : parts) {
    if (!part.expert_tokens.empty()) audit["expert_tokens"].push_back(part.expert_tokens);
    for (const MatrixResult& result : part.results) {
      json entry = to_json(result);
      entry.erase("module");
      entry.erase("seconds");
      audit["matrices"].push_back(entry);
    }
  }
  return audit.dump(1) + "\n";
}

bool is_output_of(const std::string& folder, const json& run) {
  if (!fs::exists(folder + "/" + kAuditName)) return false;
  json audit;
  try {
    audit = read_record(folder + "/" + kAuditName);
  } catch (const Error&) {
    return false;  // whatever it is, it is not what this run would write
  }
  return audit.value("run", json()) == run &&
         audit.value("output", json()) == file_hashes(folder, {kAuditName, kLogName});
}

QuantizeReport report_on(const std::string& folder) {
  const json audit = read_record(folder + "/" + kAuditName);
  QuantizeReport report;
  report.output = folder;
  report.method = audit.at("run").at("options").at("method");
  for (const json& matrix : audit.at("matrices")) {
    ++report.matrices;
    report.fallbacks += static_cast<int64_t>(!matrix.at("fallback_reason").get<std::string>().empty());
  }
  if (const json& divergence = audit.at("divergence"); !divergence.is_null()) {
    report.kl = divergence.at("kl").at("mean");
    report.top1 = divergence.at("top1");
  }
  count_bits(folder, report);
  return report;
}

}  // namespace tercet
