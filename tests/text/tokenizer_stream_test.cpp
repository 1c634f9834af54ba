#include <gtest/gtest.h>

#include "text/stream_decoder.h"
#include "text/tokenizer_random.h"

namespace tercet {
namespace {

const Tokenizer& nano() {
  static const Tokenizer tokenizer = Tokenizer::load(TERCET_SOURCE_DIR "/models/nano");
  return tokenizer;
}

int32_t byte_token(uint8_t byte) {
  for (int32_t id = 0; id < 256; ++id) {
    if (nano().token_bytes(id) == std::string_view(reinterpret_cast<const char*>(&byte), 1)) return id;
  }
  ADD_FAILURE() << "no token for byte " << int{byte};
  return -1;
}

TEST(StreamDecoder, HoldsAnUnfinishedCodePointBack) {
  StreamDecoder stream(nano(), false);
  EXPECT_EQ(stream.push(byte_token(0xf0)), "");
  EXPECT_EQ(stream.push(byte_token(0x9f)), "");
  EXPECT_EQ(stream.push(byte_token(0x98)), "");
  EXPECT_EQ(stream.push(byte_token(0x80)), "\U0001f600");
  EXPECT_EQ(stream.finish(), "");
}

TEST(StreamDecoder, ReplacesWhatCannotBeCompleted) {
  StreamDecoder stream(nano(), false);
  EXPECT_EQ(stream.push(byte_token(0xe2)), "");
  EXPECT_EQ(stream.push(byte_token(0x82)), "");
  EXPECT_EQ(stream.push(byte_token('a')), "\ufffda");
  EXPECT_EQ(stream.push(byte_token(0xed)), "");
  EXPECT_EQ(stream.push(byte_token(0xa0)), "\ufffd\ufffd");  // a surrogate's second byte completes nothing
  EXPECT_EQ(stream.push(byte_token(0xc3)), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
  EXPECT_EQ(stream.finish(), "");
}

TEST(StreamDecoder, JoinedEqualsTheWhole) {
  SplitMix64 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::vector<int32_t> ids = random_ids(random, nano().vocab_size());
    if (i % 2 == 0) {  // mostly single bytes: every way in which a sequence can break
      for (int32_t& id : ids) id %= 256;
    }
    const bool skip_special = i % 3 == 0;
    StreamDecoder stream(nano(), skip_special);
    std::string joined;
    for (const int32_t id : ids) {
      const std::string part = stream.push(id);
      EXPECT_EQ(valid_utf8_length(part), static_cast<int64_t>(part.size()));
      joined += part;
    }
    joined += stream.finish();
    ASSERT_EQ(joined, nano().decode(ids, skip_special)) << "list " << i;
  }
}

}  // namespace
}  // namespace tercet
