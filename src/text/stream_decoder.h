#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace tercet {

/// Decodes token by token and never hands out part of a code point: a tail that later bytes may complete is
/// held back. Everything handed out, joined, equals Tokenizer::decode of all ids.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive it.
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  /// The text that has become certain with this token; may be empty.
  std::string push(int32_t id);

  /// The end: U+FFFD where an unfinished code point was held back, else nothing. The decoder may be used
  /// again.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::string held_;  // at most three bytes, the start of a code point
};

}  // namespace tercet
