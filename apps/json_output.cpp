#include "json_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

std::string scalar(const Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_float()) return fmt::format("{:.6g}", value.as_float());
  if (value.is_dict()) {
    std::string parts;
    for (const auto& [key, part] : value.as_dict().items()) {
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", key.as_string(), scalar(part));
    }
    return "(" + parts + ")";
  }
  jinja::Budget budget = unlimited();
  return jinja::dump_json(value, {}, budget);
}

std::vector<std::string> row_of(const jinja::Dict& dict, bool heads) {
  std::vector<std::string> row;
  for (const auto& [key, value] : dict.items()) row.push_back(heads ? key.as_string() : scalar(value));
  return row;
}

/// Objects of the same keys, one a line below a line of the keys, aligned.
void append_table(const jinja::Value& objects, const std::string& indent, std::string& out) {
  std::vector<std::vector<std::string>> rows = {row_of(objects.items()[0].as_dict(), true)};
  for (const Value& item : objects.items()) rows.push_back(row_of(item.as_dict(), false));
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

void append_lines(const jinja::Dict& dict, const std::string& indent, std::string& out) {
  size_t width = 0;
  for (const auto& [key, value] : dict.items()) width = std::max(width, key.as_string().size());
  for (const auto& [key, value] : dict.items()) {
    const bool objects = value.is_sequence() && !value.items().empty() && value.items()[0].is_dict();
    if (value.is_dict()) {
      out += indent + key.as_string() + "\n";
      append_lines(value.as_dict(), indent + "  ", out);
    } else if (objects) {
      out += indent + key.as_string() + "\n";
      append_table(value, indent + "  ", out);
    } else {
      out += fmt::format("{}{:<{}}  {}\n", indent, key.as_string(), width, scalar(value));
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
