#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/value.h"

namespace tercet::jinja {

/// JSON text as Python's json.loads reads it: objects keep their order, the last of equal keys counts. `name`
/// is what errors call the text. Fails beyond kMaxValueDepth and for integers beyond 128 bits.
Value parse_json(std::string_view text, const std::string& name);

/// The options of Python's json.dumps.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// json.dumps(value).
std::string dump_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace tercet::jinja
