#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/stream_decoder.h"

namespace tercet {

/// Finds the first of several strings in a text that arrives in pieces, and holds back what could still
/// become one.
class StopStrings {
 public:
  /// None may be empty.
  explicit StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  /// What has become certain not to be part of a stop string. Once found() it is what lay before it, then
  /// nothing.
  std::string push(std::string_view text);
  /// The end of the text: what was held back.
  std::string finish();
  bool found() const { return found_; }

 private:
  std::vector<std::string> strings_;
  std::string held_;
  bool found_ = false;
};

/// The text of a reply while it is made: without special tokens, without the stop id, and ending before a
/// stop string.
class ReplyText {
 public:
  using Sink = std::function<void(const std::string&)>;

  /// `sink` (may be empty) sees every piece as soon as it is certain.
  ReplyText(const Tokenizer& tokenizer, std::vector<int32_t> stop_ids, std::vector<std::string> stop_strings,
            Sink sink)
      : decoder_(tokenizer, true),
        stop_ids_(std::move(stop_ids)),
        stops_(std::move(stop_strings)),
        sink_(std::move(sink)) {}

  /// False once a stop string is complete.
  bool push(int32_t token);
  void finish();
  const std::string& text() const { return text_; }

 private:
  void emit(const std::string& piece);

  StreamDecoder decoder_;
  std::vector<int32_t> stop_ids_;
  StopStrings stops_;
  Sink sink_;
  std::string text_;
};

}  // namespace tercet
