#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tercet {

/// The whole file; "-" is not special. Throws Error(kIo).
std::string read_file(const std::string& path);
std::string read_standard_input();

/// "1,2,3", separated by commas or white space, each in [0, limit). Throws Error(kUsage).
std::vector<int32_t> parse_ids(std::string_view text, int64_t limit);

}  // namespace tercet
