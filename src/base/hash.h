#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tercet {

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

/// SHA-256 of a file, read in pieces. Throws Error(kIo) if it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace tercet
