#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace tercet {

/// The split pattern of a tokenizer, compiled by PCRE2 (UTF and Unicode classes, just-in-time code where
/// there is some). Immutable: any number of threads may split.
class Pretokenizer {
 public:
  /// Throws Error (checkpoint), naming `file`, where the pattern does not compile or can match nothing.
  Pretokenizer(const std::string& pattern, const std::string& file);

  /// Walks one text after another; one of these per thread.
  class Splitter {
   public:
    explicit Splitter(const Pretokenizer& pretokenizer);

    /// Starts on `text`, valid UTF-8, which must outlive the walk.
    void start(std::string_view text);

    /// The next piece, never empty: a match of the pattern, or what lies between two of them. False at the
    /// end. Throws Error (checkpoint) where PCRE2 gives up (its limits bound the time of a hostile pattern).
    bool next(std::string_view& piece);

   private:
    struct FreeMatch {
      void operator()(pcre2_real_match_data_8* match) const;
    };

    const Pretokenizer& pretokenizer_;
    std::unique_ptr<pcre2_real_match_data_8, FreeMatch> match_;
    std::string_view text_;
    int64_t at_ = 0;         // everything before it was handed out
    int64_t match_end_ = 0;  // above at_: a match from at_ to here was found and is still to be handed out
  };

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };

  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
  bool jit_ = false;
  std::string file_;
};

}  // namespace tercet
