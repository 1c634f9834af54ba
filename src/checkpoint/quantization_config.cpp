#include "checkpoint/quantization_config.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/strict_json.h"
#include "format/gptq.h"

namespace tercet {
namespace {

using json = StrictJson;

constexpr size_t kMaxRules = 65536;  // kept integers have one each
constexpr int64_t kMaxGroup = 1 << 20;

class Reader {
 public:
  Reader(const json& object, const std::string& file) : object_(object), file_(file) {}

  [[noreturn]] void fail(const std::string& key, const std::string& expected,
                         const std::string& found) const {
    throw Error(ErrorKind::kCheckpoint, "quantization_config's '" + key + "' is not supported",
                {.file = file_, .expected = expected, .found = found});
  }

  const json* find(const char* key) const {
    const auto entry = object_.find(key);
    return entry == object_.end() || entry->is_null() ? nullptr : &*entry;
  }

  std::optional<std::string> text(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) fail(key, "a text", shown(*value));
    return value->get<std::string>();
  }

  std::optional<bool> flag(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) fail(key, "true or false", shown(*value));
    return value->get<bool>();
  }

  std::optional<int> bits() const {
    const json* value = find("bits");
    if (value == nullptr) return std::nullopt;
    for (const int bits : {2, 3, 4, 8}) {
      if (value->is_number_unsigned() && *value == static_cast<unsigned>(bits)) return bits;
    }
    fail("bits", "2, 3, 4 or 8", shown(*value));
  }

  std::optional<int64_t> group_size() const {
    const json* value = find("group_size");
    if (value == nullptr) return std::nullopt;
    const bool valid = value->is_number_unsigned()
                           ? *value >= 1U && *value <= static_cast<uint64_t>(kMaxGroup)
                           : *value == -1;
    if (!valid) fail("group_size", "-1 or an integer from 1 to " + std::to_string(kMaxGroup), shown(*value));
    return value->get<int64_t>();
  }

  /// Both spellings of the version must agree if both are there.
  bool is_v1() const {
    const std::optional<std::string> first = text("checkpoint_format");
    const std::optional<std::string> second = text("format");
    const std::string format = first.value_or(second.value_or("gptq"));
    if (second.value_or(format) != format)
      fail("format", in_quotes(format) + ", as checkpoint_format says", *second);
    if (format != "gptq" && format != "gptq_v2") fail("checkpoint_format", "gptq or gptq_v2", format);
    return format == "gptq";
  }

 private:
  const json& object_;
  const std::string& file_;
};

std::vector<QuantizationRule> read_rules(const Reader& reader, const std::string& file) {
  std::vector<QuantizationRule> rules;
  const json* dynamic = reader.find("dynamic");
  if (dynamic == nullptr || *dynamic == false) return rules;
  if (!dynamic->is_object() || dynamic->size() > kMaxRules) {
    reader.fail("dynamic", "an object of at most " + std::to_string(kMaxRules) + " rules", shown(*dynamic));
  }
  for (const auto& [key, value] : dynamic->items()) {
    if (!value.is_object()) reader.fail("dynamic", "an object for " + in_quotes(key), shown(value));
    const bool prefixed = key.starts_with("-:") || key.starts_with("+:");
    const Reader overrides(value, file);
    rules.push_back({.pattern = Pattern(prefixed ? key.substr(2) : key, file),
                     .leave_out = key.starts_with("-:"),
                     .bits = overrides.bits(),
                     .group_size = overrides.group_size(),
                     .sym = overrides.flag("sym")});
  }
  return rules;
}

QuantizationConfig read(const json& object, const std::string& file) {
  const Reader reader(object, file);
  const std::string container =
      reader.text("quant_method").value_or(reader.text("method").value_or("nothing"));
  if (container != "gptq") reader.fail("quant_method", "gptq", container);
  const std::string pack_dtype = reader.text("pack_dtype").value_or("int32");
  if (pack_dtype != "int32") reader.fail("pack_dtype", "int32", pack_dtype);
  QuantizationConfig config;
  config.container = container;
  config.method = container;
  if (const json* meta = reader.find("meta"); meta != nullptr && meta->is_object()) {
    config.method = Reader(*meta, file).text("method").value_or(container);
  }
  config.gptq_v1 = reader.is_v1();
  const std::optional<int> bits = reader.bits();
  if (!bits) reader.fail("bits", "2, 3, 4 or 8", "nothing");
  config.bits = *bits;
  config.group_size = reader.group_size().value_or(-1);
  config.desc_act = reader.flag("desc_act").value_or(false);
  config.sym = reader.flag("sym").value_or(true);
  config.rules = read_rules(reader, file);
  return config;
}

}  // namespace

std::optional<ModuleQuantization> QuantizationConfig::of(const std::string& module) const {
  for (const QuantizationRule& rule : rules) {
    if (rule.leave_out && rule.pattern.matches(module)) return std::nullopt;
  }
  for (const QuantizationRule& rule : rules) {
    if (!rule.leave_out && rule.pattern.matches(module)) {
      return ModuleQuantization{rule.bits.value_or(bits), rule.group_size.value_or(group_size),
                                rule.sym.value_or(sym)};
    }
  }
  return ModuleQuantization{bits, group_size, sym};
}

std::optional<QuantizationConfig> parse_quantization_config(const std::string& text,
                                                            const std::string& file) {
  const json root = parse_strict_json(text, file);
  for (const json* level : {&root, root.contains("text_config") ? &root["text_config"] : &root}) {
    if (!level->is_object()) continue;
    const auto entry = level->find("quantization_config");
    if (entry == level->end() || entry->is_null()) continue;
    if (!entry->is_object()) {
      throw Error(ErrorKind::kCheckpoint, "quantization_config is not valid",
                  {.file = file, .expected = "an object", .found = shown(*entry)});
    }
    return read(*entry, file);
  }
  return std::nullopt;
}

}  // namespace tercet
