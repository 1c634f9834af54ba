#include "quant/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/error.h"

namespace tercet {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    TERCET_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(const void* data, size_t bytes) {
    TERCET_CHECK_EQ(EVP_DigestUpdate(context_.get(), data, bytes), 1);
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    TERCET_CHECK_EQ(EVP_DigestFinal_ex(context_.get(), digest.data(), &length), 1);
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
      constexpr const char* kDigits = "0123456789abcdef";
      text += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_of_file(const std::string& path) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  Sha256 hash;
  std::vector<unsigned char> piece(1 << 20);
  size_t count = 0;
  while (file && (count = std::fread(piece.data(), 1, piece.size(), file.get())) > 0)
    hash.add(piece.data(), count);
  if (!file || std::ferror(file.get()) != 0) {
    throw Error(ErrorKind::kIo, std::string("the file cannot be read: ") + std::strerror(errno),
                {.file = path});
  }
  return hash.hex();
}

std::string sha256_of_windows(const std::vector<std::vector<int32_t>>& windows) {
  Sha256 hash;
  for (const std::vector<int32_t>& window : windows) {
    const int32_t length = static_cast<int32_t>(window.size());
    hash.add(&length, sizeof(length));
    hash.add(window.data(), window.size() * sizeof(int32_t));
  }
  return hash.hex();
}

}  // namespace tercet
