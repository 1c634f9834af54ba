#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tercet {

/// What `read` returns; an error of it that names no file names this one.
template <class Read>
auto in_file(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    ErrorContext context = error.context();
    if (context.file.empty()) context.file = path;
    throw Error(error.kind(), error.message(), context);
  }
}

/// The whole file; "-" is not special. Throws Error(kIo).
std::string read_file(const std::string& path);
std::string read_standard_input();

/// "1,2,3", separated by commas or white space, each in [0, limit). Throws Error(kUsage).
std::vector<int32_t> parse_ids(std::string_view text, int64_t limit);

}  // namespace tercet
