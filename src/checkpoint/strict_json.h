#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tercet {

/// The tree of a parsed file: objects keep the order of their keys.
using StrictJson = nlohmann::ordered_json;

/// Parses the JSON object of an untrusted file. Beyond the grammar it refuses duplicate keys, nesting deeper
/// than 64 and anything but an object at the top. Throws Error(kCheckpoint) with the place; `file` names the
/// text.
StrictJson parse_strict_json(std::string_view text, const std::string& file);

/// The text of a file of at most `limit` bytes. Throws Error(kIo) if it cannot be read, Error(kCheckpoint) if
/// too long.
std::string read_text_file(const std::string& path, int64_t limit);

/// `text` cut to at most `limit` bytes, between code points.
std::string cut(std::string text, size_t limit = 80);

/// Untrusted text for an error message: cut, between single quotes.
std::string in_quotes(const std::string& text);

/// A JSON value as text for an error message, cut after 80 bytes.
std::string shown(const StrictJson& value);

}  // namespace tercet
