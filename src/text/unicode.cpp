#include "text/unicode.h"

#include <cstring>

namespace tercet {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// The range of the second byte after `lead`, and how many bytes follow it; `more` is 0 for what leads
/// nothing.
struct Lead {
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
  int more = 0;
};

Lead classify(uint8_t lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {0x80, 0xbf, 1};
  if (lead == 0xe0) return {0xa0, 0xbf, 2};
  if (lead == 0xed) return {0x80, 0x9f, 2};  // no surrogates
  if (lead >= 0xe1 && lead <= 0xef) return {0x80, 0xbf, 2};
  if (lead == 0xf0) return {0x90, 0xbf, 3};
  if (lead >= 0xf1 && lead <= 0xf3) return {0x80, 0xbf, 3};
  if (lead == 0xf4) return {0x80, 0x8f, 3};
  return {};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, int64_t at) {
  const auto byte = [&](int64_t i) { return static_cast<uint8_t>(text[i]); };
  const auto size = static_cast<int64_t>(text.size());
  const uint8_t first = byte(at);
  if (first < 0x80) return {first, 1, false};
  Lead lead = classify(first);
  if (lead.more == 0) return {-1, 1, false};
  int32_t value = first & (0x3f >> lead.more);
  for (int i = 1; i <= lead.more; ++i) {
    if (at + i >= size) return {-1, i, true};
    const uint8_t next = byte(at + i);
    if (next < lead.low || next > lead.high) return {-1, i, false};
    value = (value << 6) | (next & 0x3f);
    lead.low = 0x80;
    lead.high = 0xbf;
  }
  return {value, lead.more + 1, false};
}

void append_utf8(std::string& out, int32_t code_point) {
  const auto put = [&](int32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xc0 | (code_point >> 6));
  } else {
    if (code_point < 0x10000) {
      put(0xe0 | (code_point >> 12));
    } else {
      put(0xf0 | (code_point >> 18));
      put(0x80 | ((code_point >> 12) & 0x3f));
    }
    put(0x80 | ((code_point >> 6) & 0x3f));
  }
  put(0x80 | (code_point & 0x3f));
}

int64_t ascii_length(std::string_view text) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t at = 0;
  for (uint64_t block = 0; at + 8 <= size; at += 8) {
    std::memcpy(&block, text.data() + at, 8);
    if ((block & 0x8080808080808080U) != 0) break;
  }
  while (at < size && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

int64_t valid_utf8_length(std::string_view text) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t at = 0;
  while (at < size) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      at += ascii_length(text.substr(at));
      continue;
    }
    const Utf8Step step = utf8_step(text, at);
    if (step.value < 0) break;
    at += step.length;
  }
  return at;
}

std::string lossy_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int64_t valid = valid_utf8_length(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    out.append(kReplacement);
    text.remove_prefix(utf8_step(text, 0).length);
  }
  return out;
}

}  // namespace tercet
