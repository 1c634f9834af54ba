#include "quant/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

constexpr int64_t kMaxRules = 1024;  // each is tried on every module

[[noreturn]] void refuse(const std::string& rule, const std::string& expected, const std::string& found) {
  throw Error(ErrorKind::kUsage, "the recipe's rule '" + cut(rule) + "' is not valid; correct it",
              {.expected = expected, .found = found});
}

int64_t integer(const std::string& rule, const std::string& key, const StrictJson& value,
                const std::vector<int64_t>& allowed) {
  if (value.is_number_integer()) {
    for (const int64_t candidate : allowed) {
      if (value == candidate) return candidate;
    }
  }
  std::string expected = key + " of";
  for (const int64_t candidate : allowed) expected.append(" ").append(std::to_string(candidate));
  refuse(rule, expected, shown(value));
}

RecipeRule read_rule(const std::string& key, const StrictJson& values) {
  if (!values.is_object()) refuse(key, "an object of settings", shown(values));
  const bool prefixed = key.starts_with("-:") || key.starts_with("+:");
  RecipeRule rule{key, Pattern(prefixed ? key.substr(2) : key, {}), key.starts_with("-:"), {}, {}, {}};
  for (const auto& [name, value] : values.items()) {
    if (rule.keep) refuse(key, "no settings in a rule that keeps modules", name);
    if (name == "bits") {
      rule.bits = static_cast<int>(integer(key, name, value, {2, 3, 4, 8}));
    } else if (name == "group_size") {
      rule.group_size = integer(key, name, value, {32, 64, 128, -1});
    } else if (name == "method" && value.is_string()) {
      rule.method = quantize_method(value.get<std::string>());
    } else {
      refuse(key, "bits, group_size or method (a text)", name + " " + shown(value));
    }
  }
  return rule;
}

}  // namespace

Recipe Recipe::parse(const std::string& text, const std::string& file) {
  Recipe recipe;
  if (text.empty()) return recipe;
  try {
    const StrictJson rules = parse_strict_json(text, file);
    for (const auto& [key, values] : rules.items()) {
      RecipeRule rule = read_rule(key, values);
      for (const RecipeRule& other : recipe.rules_) {
        const bool same = other.keep == rule.keep && other.pattern.expression() == rule.pattern.expression();
        if (same) refuse(key, "every expression once", "also '" + other.name + "'");
      }
      recipe.rules_.push_back(std::move(rule));
    }
    if (std::ssize(recipe.rules_) > kMaxRules) {
      throw Error(
          ErrorKind::kUsage, "the recipe has too many rules; join some of their expressions",
          {.expected = fmt::format("at most {}", kMaxRules), .found = std::to_string(recipe.rules_.size())});
    }
  } catch (const Error& error) {
    ErrorContext context = error.context();
    context.file = file;
    throw Error(ErrorKind::kUsage, error.message(), context);
  }
  return recipe;
}

std::optional<MatrixSettings> Recipe::decide(const std::string& disk_name, MatrixSettings settings,
                                             bool by_rule_only) const {
  const auto named_by = [&](bool keep) {
    return std::find_if(rules_.begin(), rules_.end(), [&](const RecipeRule& rule) {
      return rule.keep == keep && rule.pattern.matches(disk_name);
    });
  };
  if (named_by(true) != rules_.end()) return std::nullopt;
  const auto rule = named_by(false);
  if (rule == rules_.end()) return by_rule_only ? std::nullopt : std::optional(settings);
  settings.method = rule->method.value_or(settings.method);
  settings.bits = rule->bits.value_or(settings.bits);
  settings.group_size = rule->group_size.value_or(settings.group_size);
  return settings;
}

}  // namespace tercet
