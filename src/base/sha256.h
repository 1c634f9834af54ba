#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tercet {

/// SHA-256 (FIPS 180-4) of bytes as they come, by OpenSSL.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  /// The digest in lower-case hexadecimal; call it once, at the end.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Lower-case hexadecimal SHA-256.
std::string sha256(std::span<const std::byte> bytes);
std::string sha256(std::string_view text);

/// The same of a file, read in pieces. Throws Error(kIo) if it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace tercet
