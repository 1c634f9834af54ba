// Bytes as a safetensors file, and again with a right header length before them; what is accepted must lie
// inside.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace {

void parse(std::string_view file) {
  try {
    int64_t total = 0;
    for (const tercet::StoredTensor& tensor :
         tercet::parse_safetensors(std::as_bytes(std::span(file)), "fuzzed")) {
      const auto* begin = reinterpret_cast<const char*>(tensor.data);
      TERCET_CHECK(begin >= file.data() && tensor.bytes >= 0);
      TERCET_CHECK(tensor.bytes <= file.data() + file.size() - begin);
      TERCET_CHECK(tensor.elements() * size_of(tensor.dtype) == tensor.bytes);
      if (is_float(tensor.dtype)) {
        std::vector<float> values(static_cast<size_t>(tensor.elements()));
        to_floats(tensor.dtype, tensor.data, tensor.elements(), values.data());
      }
      total += tensor.bytes;
    }
    TERCET_CHECK(total <= static_cast<int64_t>(file.size()) - 8);
  } catch (const tercet::Error& error) {
    TERCET_CHECK(error.kind() == tercet::ErrorKind::kCheckpoint && !error.context().found.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  parse(input);
  const uint64_t length = input.rfind('}') + 1;  // 0 if there is none
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  parse(file.append(input));
  return 0;
}
