#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/pattern.h"
#include "quant/options.h"

namespace tercet {

/// What is done to one matrix.
struct MatrixSettings {
  QuantizeMethod method = QuantizeMethod::kGptq;
  int bits = 4;
  int64_t group_size = 128;  // -1: one group a row
};

/// One rule over module names as they are on disk.
struct RecipeRule {
  std::string name;  // as the file has it
  Pattern pattern;
  bool keep = false;  // "-:": not quantized
  std::optional<QuantizeMethod> method;
  std::optional<int> bits;
  std::optional<int64_t> group_size;
};

/// Ordered rules in the manner of GPTQModel's `dynamic`: {"-:REGEX": {}, "+:REGEX": {"bits": 3, "group_size":
/// 64, "method": "rtn"}}. Rules that keep are tried first, then the first that matches decides. A pattern
/// meets the start of the full module name.
class Recipe {
 public:
  /// Reads the text of a recipe file; empty text has no rules. Throws Error(kUsage) that says what is wrong
  /// in `file`.
  static Recipe parse(const std::string& text, const std::string& file);

  /// The settings of a module that gets `settings` unless a rule says otherwise; nothing if it is kept. With
  /// `by_rule_only` a module that no rule names is kept.
  std::optional<MatrixSettings> decide(const std::string& disk_name, MatrixSettings settings,
                                       bool by_rule_only) const;

  const std::vector<RecipeRule>& rules() const { return rules_; }

 private:
  std::vector<RecipeRule> rules_;
};

}  // namespace tercet
