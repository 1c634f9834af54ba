#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tercet {

/// SHA-256 in lower-case hexadecimal of a file, read in pieces. Throws Error(kIo) if it cannot be read.
std::string sha256_of_file(const std::string& path);

/// SHA-256 of token windows, each led by its length, as little-endian 32-bit integers.
std::string sha256_of_windows(const std::vector<std::vector<int32_t>>& windows);

}  // namespace tercet
