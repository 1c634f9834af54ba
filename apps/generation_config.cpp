#include "generation_config.h"

#include <filesystem>
#include <limits>

#include "base/error.h"
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

/// Replaces `value` by the key's, where it is there and not null.
template <class T>
void read_number(const jinja::Dict& dict, const std::string& file, const std::string& key, T& value) {
  const jinja::Value* found = dict.find(key);
  if (found == nullptr || found->is_none()) return;
  const std::optional<double> number = found->number();
  if (!number || !(*number >= -1e6 && *number <= 1e6)) refuse(file, key, "a number of sensible size");
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

}  // namespace

GenerationConfig read_generation_config(const std::string& folder) {
  GenerationConfig config;
  config.sampling.temperature = 0;
  const std::string file = folder + "/generation_config.json";
  if (!std::filesystem::exists(file)) return config;
  const jinja::Value value = parse(file);
  const jinja::Dict& dict = value.as_dict();
  config.stop_ids = read_ids(dict, file, "eos_token_id");
  config.sampling.temperature = 1;
  read_number(dict, file, "temperature", config.sampling.temperature);
  read_number(dict, file, "top_k", config.sampling.top_k);
  read_number(dict, file, "top_p", config.sampling.top_p);
  read_number(dict, file, "min_p", config.sampling.min_p);
  read_number(dict, file, "presence_penalty", config.sampling.presence_penalty);
  read_number(dict, file, "repetition_penalty", config.sampling.repetition_penalty);
  const jinja::Value* do_sample = dict.find("do_sample");
  if (do_sample == nullptr || !do_sample->truth()) config.sampling.temperature = 0;
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
