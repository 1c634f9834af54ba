#include "text/stream_decoder.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace tercet {

std::string StreamDecoder::push(int32_t id) {
  if (skip_special_ && tokenizer_.is_special(id)) return {};
  std::string bytes = std::exchange(held_, {});
  bytes += tokenizer_.token_bytes(id);
  const auto size = static_cast<int64_t>(bytes.size());
  // What is unfinished starts with the last lead byte, in the last three bytes.
  for (int64_t at = std::max<int64_t>(0, size - 3); at < size; ++at) {
    if (!utf8_step(bytes, at).truncated) continue;
    held_ = bytes.substr(at);
    bytes.resize(at);
    break;
  }
  return lossy_utf8(bytes);
}

std::string StreamDecoder::finish() {
  return lossy_utf8(std::exchange(held_, {}));
}

}  // namespace tercet
