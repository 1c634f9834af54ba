#include "text/unicode.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "text/tokenizer_random.h"

namespace tercet {
namespace {

TEST(Unicode, EveryCodePointSurvives) {
  for (int32_t point = 0; point < 0x110000; ++point) {
    std::string text;
    append_utf8(text, point);
    const Utf8Step step = utf8_step(text, 0);
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    ASSERT_EQ(step.value, surrogate ? -1 : point);
    ASSERT_EQ(step.length, surrogate ? 1 : static_cast<int64_t>(text.size()));
    ASSERT_FALSE(step.truncated);
  }
}

TEST(Unicode, EveryPrefixOfACodePointIsTruncated) {
  for (const std::string_view text : {"\u00e9", "\u4e2d", "\U0001f600"}) {
    for (size_t length = 1; length < text.size(); ++length) {
      const Utf8Step step = utf8_step(text.substr(0, length), 0);
      EXPECT_TRUE(step.truncated);
      EXPECT_EQ(step.length, static_cast<int64_t>(length));
    }
  }
}

TEST(Unicode, LossyReplacesMaximalSubparts) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain \u00e9", "plain \u00e9"},
      {"\x80\xbf", "\ufffd\ufffd"},
      {"\xc0\xaf", "\ufffd\ufffd"},                      // overlong
      {"\xe0\x9f\x80", "\ufffd\ufffd\ufffd"},            // overlong
      {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},            // surrogate
      {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},  // above U+10FFFF
      {"\xf0\x9f\x98", "\ufffd"},
      {"\xf0\x9f\x98z", "\ufffdz"},
      {"\xf1\x80\xe1\x80\xc2\x62", "\ufffd\ufffd\ufffd\x62"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(lossy_utf8(bytes), text);
}

std::string whole_nfc(const std::string& text) {
  uint8_t* out = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<uint8_t, decltype(&std::free)> owner(out, std::free);
  EXPECT_GE(size, 0);
  return {reinterpret_cast<const char*>(out), static_cast<size_t>(size)};
}

TEST(Unicode, NfcOfSpansEqualsNfcOfTheWhole) {
  SplitMix64 random(6);
  std::string storage;
  for (int i = 0; i < 50000; ++i) {
    const std::string text = lossy_utf8(random_string(random) + random_string(random));
    ASSERT_EQ(nfc(text, storage), whole_nfc(text)) << "string " << i;
  }
}

TEST(Unicode, NfcOfEveryCodePointAmongOthers) {
  std::string storage;
  for (int32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    std::string text = "e\u0327";
    append_utf8(text, point);
    text += "\u0301\u0334";
    append_utf8(text, point);
    ASSERT_EQ(nfc(text, storage), whole_nfc(text)) << "U+" << std::hex << point;
  }
}

TEST(Unicode, NfcCopiesNothingThatIsNormal) {
  std::string storage;
  const std::string_view text = "caf\u00e9 \u4e2d\u6587 \uac00 \U0001f600";
  EXPECT_EQ(nfc(text, storage).data(), text.data());
}

}  // namespace
}  // namespace tercet
