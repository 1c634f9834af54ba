#include "text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

namespace tercet {
namespace {

/// UCP: without it white space and classes end at ASCII. \C could cut a code point in half.
constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;

std::string pcre2_message(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

[[noreturn]] void refuse(const std::string& file, const std::string& message, const std::string& found) {
  throw Error(ErrorKind::kCheckpoint, message,
              {.file = file, .expected = "a split pattern that PCRE2 can run", .found = found});
}

[[noreturn]] void refuse_empty(const std::string& file) {
  refuse(file, "pre_tokenizer: the split pattern cuts nothing off", "one that matches an empty text");
}

}  // namespace

void Pretokenizer::FreeCode::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

void Pretokenizer::Splitter::FreeMatch::operator()(pcre2_real_match_data_8* match) const {
  pcre2_match_data_free(match);
}

Pretokenizer::Pretokenizer(const std::string& pattern, const std::string& file) : file_(file) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  const auto* text = reinterpret_cast<PCRE2_SPTR>(pattern.data());
  code_.reset(pcre2_compile(text, pattern.size(), kOptions, &error, &offset, nullptr));
  if (code_ == nullptr) {
    refuse(file_, "pre_tokenizer: the split pattern does not compile",
           pcre2_message(error) + " at byte " + std::to_string(offset));
  }
  uint32_t matches_empty = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) refuse_empty(file_);
  jit_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
}

Pretokenizer::Splitter::Splitter(const Pretokenizer& pretokenizer)
    : pretokenizer_(pretokenizer),
      match_(pcre2_match_data_create_from_pattern(pretokenizer.code_.get(), nullptr)) {
  if (match_ == nullptr) throw std::bad_alloc();
}

void Pretokenizer::Splitter::start(std::string_view text) {
  text_ = text;
  at_ = 0;
  match_end_ = 0;
}

bool Pretokenizer::Splitter::next(std::string_view& piece) {
  const auto size = static_cast<int64_t>(text_.size());
  if (at_ >= size) return false;
  int64_t end = match_end_;
  if (end <= at_) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
    const auto match = pretokenizer_.jit_ ? pcre2_jit_match : pcre2_match;
    const int found = match(pretokenizer_.code_.get(), subject, text_.size(), static_cast<PCRE2_SIZE>(at_),
                            PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
      refuse(pretokenizer_.file_, "pre_tokenizer: the split pattern gave up on a text", pcre2_message(found));
    }
    int64_t begin = size;
    end = size;
    if (found >= 0) {
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match_.get());
      begin = static_cast<int64_t>(range[0]);
      end = static_cast<int64_t>(range[1]);
      if (begin < at_ || end <= begin) refuse_empty(pretokenizer_.file_);
    }
    match_end_ = end;
    if (begin > at_) end = begin;
  }
  piece = text_.substr(at_, end - at_);
  at_ = end;
  return true;
}

}  // namespace tercet
