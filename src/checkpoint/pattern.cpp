#include "checkpoint/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "base/error.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

constexpr size_t kMaxExpressionBytes = 1000;
constexpr uint32_t kMaxSteps = 100'000;
constexpr uint32_t kMaxHeapKiB = 1024;

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

std::string message_of(int code) {
  std::array<PCRE2_UCHAR8, 256> text{};
  pcre2_get_error_message_8(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Pattern::Compiled {
  std::unique_ptr<pcre2_code_8, Free<pcre2_code_free_8>> code;
  std::unique_ptr<pcre2_match_context_8, Free<pcre2_match_context_free_8>> context;
};

Pattern::Pattern(const std::string& expression, const std::string& file)
    : expression_(expression), file_(file) {
  auto compiled = std::make_shared<Compiled>();
  int error = 0;
  size_t offset = 0;
  if (expression.size() > kMaxExpressionBytes) {
    throw Error(ErrorKind::kCheckpoint, "a module pattern is too long",
                {.file = file,
                 .expected = "at most " + std::to_string(kMaxExpressionBytes) + " bytes",
                 .found = std::to_string(expression.size()) + " bytes"});
  }
  compiled->code.reset(pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(expression.data()), expression.size(),
                                       PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!compiled->code) {
    throw Error(
        ErrorKind::kCheckpoint, "a module pattern is not a valid regular expression; correct it",
        {.file = file,
         .expected = "a regular expression",
         .found = in_quotes(expression) + ": " + message_of(error) + " at " + std::to_string(offset)});
  }
  compiled->context.reset(pcre2_match_context_create_8(nullptr));
  pcre2_set_match_limit_8(compiled->context.get(), kMaxSteps);
  pcre2_set_depth_limit_8(compiled->context.get(), kMaxSteps);
  pcre2_set_heap_limit_8(compiled->context.get(), kMaxHeapKiB);
  compiled_ = std::move(compiled);
}

bool Pattern::matches(std::string_view name) const {
  const std::unique_ptr<pcre2_match_data_8, Free<pcre2_match_data_free_8>> data(
      pcre2_match_data_create_8(1, nullptr));
  const int result = pcre2_match_8(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR8>(name.data()),
                                   name.size(), 0, 0, data.get(), compiled_->context.get());
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  throw Error(ErrorKind::kCheckpoint, "a module pattern cannot be matched in reasonable time; simplify it",
              {.file = file_,
               .tensor = std::string(name),
               .expected = "a pattern without nested repetition",
               .found = in_quotes(expression_) + ": " + message_of(result)});
}

}  // namespace tercet
