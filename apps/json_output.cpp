#include "json_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "text/unicode.h"
#include "text/value_json.h"

namespace tercet {

using jinja::Value;

namespace {

/// What the program says of itself needs no limits: they are meant for templates.
jinja::Budget unlimited() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  return jinja::Budget(jinja::Limits{.steps = kNone, .text_bytes = kNone, .total_bytes = kNone});
}

/// 12345678 as 12,345,678.
std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string decimal_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

/// A number with the unit that its key tells.
std::string measured(std::string_view key, double number) {
  number += 0.0;  // no minus before a zero
  if (key.ends_with("bytes_per_second")) return decimal_bytes(number) + "/s";
  if (key.ends_with("bytes") || key.ends_with("bytes_per_token")) return decimal_bytes(number);
  if (key.ends_with("seconds"))
    return (number < 999.5 ? fmt::format("{:.3g}", number) : grouped(number)) + " s";
  if (key == "top1" || key == "top5" || key == "score" || key.starts_with("fraction")) {
    return fmt::format("{:.1f} %", 100 * number);
  }
  const bool whole = number == std::floor(number) || std::abs(number) >= 1000;
  return whole ? grouped(number) : fmt::format("{:.4g}", number);
}

std::string scalar(const std::string& key, const Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_none()) return "-";
  if (value.is_float()) return measured(key, value.as_float());
  if (value.is_int()) return measured(key, static_cast<double>(*value.integer()));
  if (value.is_dict()) {
    const jinja::Dict& dict = value.as_dict();
    const Value* median = dict.find("median");
    const Value* least = dict.find("min");
    if (median != nullptr && least != nullptr) {
      return fmt::format("{} ({} to {})", scalar(key, *median), scalar(key, *least),
                         scalar(key, *dict.find("max")));
    }
  }
  jinja::Budget budget = unlimited();
  return jinja::dump_json(value, {}, budget);
}

/// tokens_per_second as "tokens per second".
std::string words(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

using Rows = std::vector<std::vector<std::string>>;

/// Texts to the left, numbers to the right, below a line of heads.
void append_table(const Rows& rows, const std::string& indent, std::string& out) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    out += fmt::format("{}{:<{}}", indent, row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) out += fmt::format("  {:>{}}", row[i], widths[i]);
    out += "\n";
  }
}

void add_row(Rows& rows, std::vector<std::string> row, const jinja::Dict& dict) {
  for (const auto& [key, value] : dict.items()) row.push_back(scalar(key.as_string(), value));
  rows.push_back(std::move(row));
}

std::vector<std::string> heads_of(std::vector<std::string> heads, const jinja::Dict& dict) {
  for (const auto& [key, value] : dict.items()) heads.push_back(words(key.as_string()));
  return heads;
}

/// Objects with the same keys: a list of them, or an object that names each.
std::optional<Rows> table_of(const Value& value) {
  Rows rows;
  if (value.is_sequence()) {
    if (value.items().empty() || !value.items()[0].is_dict()) return std::nullopt;
    rows.push_back(heads_of({}, value.items()[0].as_dict()));
    for (const Value& item : value.items()) add_row(rows, {}, item.as_dict());
  } else {
    const auto& items = value.as_dict().items();
    if (items.empty()) return std::nullopt;
    for (const auto& [key, item] : items) {
      if (!item.is_dict()) return std::nullopt;
      if (rows.empty()) rows.push_back(heads_of({""}, item.as_dict()));
      add_row(rows, {key.as_string()}, item.as_dict());
    }
  }
  return rows;
}

void append_lines(const jinja::Dict& dict, const std::string& indent, std::string& out) {
  size_t width = 0;
  for (const auto& [key, value] : dict.items()) width = std::max(width, key.as_string().size());
  for (const auto& [key, value] : dict.items()) {
    const std::string name = words(key.as_string());
    const auto table = value.is_dict() || value.is_sequence() ? table_of(value) : std::nullopt;
    if (table) {
      out += indent + name + "\n";
      append_table(*table, indent + "  ", out);
    } else if (value.is_dict()) {
      out += indent + name + "\n";
      append_lines(value.as_dict(), indent + "  ", out);
    } else {
      out += fmt::format("{}{:<{}}  {}\n", indent, name, width, scalar(key.as_string(), value));
    }
  }
}

}  // namespace

JsonObject& JsonObject::set(const std::string& key, std::string_view text) {
  dict_.set(key, Value(lossy_utf8(text)));
  return *this;
}

JsonObject& JsonObject::set(const std::string& key, const JsonObject& object) {
  dict_.set(key, Value::dict(object.dict_));
  return *this;
}

JsonObject& JsonObject::set(const std::string& key, const std::vector<JsonObject>& objects) {
  jinja::List items;
  for (const JsonObject& object : objects) items.push_back(Value::dict(object.dict_));
  dict_.set(key, Value::list(std::move(items)));
  return *this;
}

JsonObject& JsonObject::set(const std::string& key, double number) {
  dict_.set(key, std::isfinite(number) ? Value(number) : Value::none());
  return *this;
}

JsonObject& JsonObject::set_value(const std::string& key, const Value& value) {
  dict_.set(key, value);
  return *this;
}

std::string JsonObject::text() const {
  jinja::Budget budget = unlimited();
  return jinja::dump_json(Value::dict(dict_), {}, budget);
}

std::string JsonObject::lines() const {
  std::string out;
  append_lines(dict_, "", out);
  return out;
}

}  // namespace tercet
