#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/error.h"

namespace tercet {

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  TERCET_CHECK(context_->digest != nullptr &&
               EVP_DigestInit_ex(context_->digest.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  TERCET_CHECK_EQ(EVP_DigestUpdate(context_->digest.get(), bytes.data(), bytes.size()), 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  TERCET_CHECK_EQ(EVP_DigestFinal_ex(context_->digest.get(), digest.data(), &length), 1);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text)));
}

std::string sha256_of_file(const std::string& path) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  Sha256 hash;
  std::vector<std::byte> piece(1 << 20);
  size_t count = 0;
  while (file && (count = std::fread(piece.data(), 1, piece.size(), file.get())) > 0)
    hash.add(std::span(piece).first(count));
  if (!file || std::ferror(file.get()) != 0) {
    throw Error(ErrorKind::kIo, std::string("the file cannot be read: ") + std::strerror(errno),
                {.file = path});
  }
  return hash.hex();
}

}  // namespace tercet
