#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/pattern.h"

namespace tercet {

/// How one module is said to be quantized.
struct ModuleQuantization {
  int bits = 0;
  int64_t group_size = 0;  // -1: one group a row
  bool sym = true;
};

/// One entry of GPTQModel's `dynamic`: modules to leave out ("-:" before the pattern), or values that differ
/// for them.
struct QuantizationRule {
  Pattern pattern;
  bool leave_out = false;
  std::optional<int> bits;
  std::optional<int64_t> group_size;
  std::optional<bool> sym;
};

/// How a checkpoint says its integers are packed.
struct QuantizationConfig {
  std::string method;      // "gptq", "rtn" (in the GPTQ container)
  std::string container;   // "gptq"
  bool gptq_v1 = false;    // zeros stored minus one
  int bits = 0;            // of modules that no rule names
  int64_t group_size = 0;  // -1: one group a row
  bool desc_act = false;
  bool sym = true;
  std::vector<QuantizationRule> rules;

  /// What the rules say of a module, by its name on disk: first those that leave out, then the first that
  /// matches, as GPTQModel does. Empty: it is left out.
  std::optional<ModuleQuantization> of(const std::string& module) const;
};

/// Reads `quantization_config` of the text of a config.json; empty if it has none. Throws Error(kCheckpoint)
/// that says what is not supported.
std::optional<QuantizationConfig> parse_quantization_config(const std::string& json, const std::string& file);

}  // namespace tercet
