// Bytes as a tokenizer.json; where it is accepted, its own text is encoded and decoded, whole and as a
// stream.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = tercet::Tokenizer::parse(input, "fuzzed");
    const auto ids = tokenizer.encode(input.substr(0, 4096));
    tercet::StreamDecoder stream(tokenizer, false);
    std::string joined;
    for (const int32_t id : ids) joined += stream.push(id);
    TERCET_CHECK(joined + stream.finish() == tokenizer.decode(ids));
  } catch (const tercet::Error&) {
    // refused by name
  }
  return 0;
}
