#include "base/hash.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/error.h"

namespace tercet {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    TERCET_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(const void* data, size_t size) { TERCET_CHECK(EVP_DigestUpdate(context_.get(), data, size) == 1); }

  std::string hex() {
    std::array<unsigned char, 32> digest{};
    TERCET_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    std::string text;
    for (const unsigned char byte : digest) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hex();
}

std::string sha256_of_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    throw Error(ErrorKind::kIo, std::string("cannot open the file: ") + std::strerror(errno), {.file = path});
  Sha256 hash;
  std::vector<char> piece(1 << 20);
  while (const size_t size = std::fread(piece.data(), 1, piece.size(), file.get()))
    hash.add(piece.data(), size);
  if (std::ferror(file.get()) != 0) throw Error(ErrorKind::kIo, "cannot read the file", {.file = path});
  return hash.hex();
}

}  // namespace tercet
