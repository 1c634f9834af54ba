#include "generation_config.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "console.h"
#include "files.h"
#include "text/value_json.h"

namespace tercet {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& key, const std::string& expected) {
  throw Error(ErrorKind::kCheckpoint, "a value has the wrong type",
              {.file = file, .expected = key + " to be " + expected});
}

/// The file's object; what the parser calls wrong usage is a broken checkpoint here.
jinja::Value parse(const std::string& file) {
  const std::string text = read_file(file);
  try {
    jinja::Value value = jinja::parse_json(text, file);
    if (!value.is_dict()) refuse(file, "it", "an object");
    return value;
  } catch (const Error& error) {
    throw Error(ErrorKind::kCheckpoint, error.message(), {.file = file});
  }
}

/// Replaces `value` by the key's, where it is there and not null. The command line takes the same ranges.
template <class T>
void read_number(const jinja::Dict& dict, const std::string& file, const std::string& key, double least,
                 double most, T& value) {
  const jinja::Value* found = dict.find(key);
  if (found == nullptr || found->is_none()) return;
  const std::optional<double> number = found->number();
  const bool whole = std::is_integral_v<T>;
  if (!number || found->is_bool() || !(*number >= least && *number <= most) ||
      (whole && *number != std::floor(*number))) {
    refuse(file, key, fmt::format("a {}number from {} to {}", whole ? "whole " : "", least, most));
  }
  value = static_cast<T>(*number);
}

std::vector<int32_t> read_ids(const jinja::Dict& dict, const std::string& file, const std::string& key) {
  const jinja::Value* found = dict.find(key);
  if (found == nullptr || found->is_none()) return {};
  std::vector<int32_t> ids;
  for (const jinja::Value& item : found->is_sequence() ? found->items() : jinja::List{*found}) {
    const std::optional<jinja::Int> id = item.is_int() ? item.integer() : std::nullopt;
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max())
      refuse(file, key, "a token id or a list of them");
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

/// The stop ids of config.json, where generation_config.json names none.
std::vector<int32_t> config_stop_ids(const std::string& folder) {
  const std::string file = folder + "/config.json";
  const jinja::Value value = parse(file);
  std::vector<int32_t> ids = read_ids(value.as_dict(), file, "eos_token_id");
  const jinja::Value* text = value.as_dict().find("text_config");
  if (ids.empty() && text != nullptr && text->is_dict())
    ids = read_ids(text->as_dict(), file, "eos_token_id");
  if (ids.empty()) {
    log_warning(folder + " names no eos_token_id: no token ends a reply, --stop and --max-tokens do");
  }
  return ids;
}

void read_sampling(const jinja::Dict& dict, const std::string& file, SamplingParams& sampling) {
  constexpr double kMost = 1e6;
  sampling.temperature = 1;
  read_number(dict, file, "temperature", 0, 100, sampling.temperature);
  read_number(dict, file, "top_k", 0, kMost, sampling.top_k);
  read_number(dict, file, "top_p", 0, 1, sampling.top_p);
  read_number(dict, file, "min_p", 0, 1, sampling.min_p);
  read_number(dict, file, "presence_penalty", -kMost, kMost, sampling.presence_penalty);
  read_number(dict, file, "repetition_penalty", 1e-6, kMost, sampling.repetition_penalty);
  const jinja::Value* do_sample = dict.find("do_sample");
  if (do_sample != nullptr && !do_sample->is_none() && !do_sample->is_bool()) {
    refuse(file, "do_sample", "true or false");
  }
  if (do_sample == nullptr || !do_sample->truth()) sampling.temperature = 0;
}

}  // namespace

GenerationConfig read_generation_config(const std::string& folder) {
  GenerationConfig config;
  config.sampling.temperature = 0;
  const std::string file = folder + "/generation_config.json";
  if (std::filesystem::exists(file)) {
    const jinja::Value value = parse(file);
    read_sampling(value.as_dict(), file, config.sampling);
    config.stop_ids = read_ids(value.as_dict(), file, "eos_token_id");
  }
  if (config.stop_ids.empty()) config.stop_ids = config_stop_ids(folder);
  return config;
}

SamplingParams merge(SamplingParams defaults, const SamplingOptions& options) {
  defaults.temperature = options.temperature.value_or(defaults.temperature);
  defaults.top_k = options.top_k.value_or(defaults.top_k);
  defaults.top_p = options.top_p.value_or(defaults.top_p);
  defaults.min_p = options.min_p.value_or(defaults.min_p);
  defaults.presence_penalty = options.presence_penalty.value_or(defaults.presence_penalty);
  defaults.repetition_penalty = options.repetition_penalty.value_or(defaults.repetition_penalty);
  defaults.seed = options.seed.value_or(defaults.seed);
  return defaults;
}

}  // namespace tercet
