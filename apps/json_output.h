#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "text/value.h"

namespace tercet {

/// A JSON object for standard output, keys in the order they are set.
class JsonObject {
 public:
  JsonObject& set(const std::string& key, std::string_view text);
  JsonObject& set(const std::string& key, const char* text) { return set(key, std::string_view(text)); }
  JsonObject& set(const std::string& key, const JsonObject& object);
  JsonObject& set(const std::string& key, const std::vector<JsonObject>& objects);
  /// Null where it is not finite, which JSON cannot say.
  JsonObject& set(const std::string& key, double number);
  template <std::integral T>
  JsonObject& set(const std::string& key, T number) {
    dict_.set(key, jinja::Value(number));
    return *this;
  }
  template <std::integral T>
  JsonObject& set(const std::string& key, const std::vector<T>& numbers) {
    dict_.set(key, jinja::Value::list(jinja::List(numbers.begin(), numbers.end())));
    return *this;
  }
  JsonObject& set_value(const std::string& key, const jinja::Value& value);

  /// One line of JSON.
  std::string text() const;

  /// For people: a line "key  value" each, with units, objects below their key, alike ones as a table.
  std::string lines() const;

 private:
  jinja::Dict dict_;
};

}  // namespace tercet
