#include "text/windows.h"

#include <numeric>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/random.h"

namespace tercet {

std::vector<std::string_view> split_documents(std::string_view text) {
  constexpr std::string_view kSeparator = "\n\x1e\n";
  std::vector<std::string_view> documents;
  size_t begin = 0;
  for (size_t end = text.find(kSeparator); end != std::string_view::npos;
       end = text.find(kSeparator, begin)) {
    documents.push_back(text.substr(begin, end - begin));
    begin = end + kSeparator.size();
  }
  documents.push_back(text.substr(begin));
  return documents;
}

TokenWindows cut_windows(const Tokenizer& tokenizer, std::string_view text, int64_t length) {
  TERCET_CHECK_LT(0, length);
  const std::optional<int32_t> end = tokenizer.token_to_id("<|endoftext|>");
  if (!end)
    throw Error(ErrorKind::kCheckpoint, "the tokenizer has no <|endoftext|>, which ends every document");
  TokenWindows windows;
  windows.length = length;
  for (const std::string_view document : split_documents(text)) {
    const std::vector<int32_t> ids = tokenizer.encode(document);
    windows.tokens.insert(windows.tokens.end(), ids.begin(), ids.end());
    windows.tokens.push_back(*end);
  }
  if (windows.count() == 0) {
    throw Error(
        ErrorKind::kUsage, "the text does not fill one window: take a longer text or a shorter window",
        {.expected = std::to_string(length) + " tokens", .found = std::to_string(windows.tokens.size())});
  }
  return windows;
}

std::vector<int64_t> spread_windows(int64_t count, int64_t wanted) {
  std::vector<int64_t> numbers;
  const int64_t taken = wanted < count ? wanted : count;
  for (int64_t i = 0; i < taken; ++i) numbers.push_back(i * count / taken);
  return numbers;
}

std::vector<int64_t> draw_windows(int64_t count, int64_t wanted, uint64_t seed) {
  TERCET_CHECK_LE(wanted, count);
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  SplitMix64 random(seed);
  for (size_t i = 0; i < static_cast<size_t>(wanted); ++i) {
    std::swap(numbers[i], numbers[i + random.below(numbers.size() - i)]);
  }
  numbers.resize(static_cast<size_t>(wanted));
  return numbers;
}

}  // namespace tercet
