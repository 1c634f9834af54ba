#include "reply_text.h"

#include <gtest/gtest.h>

namespace tercet {
namespace {

/// The pieces that come out when `text` goes in by `step` bytes, and what is left at the end.
std::string stopped(const std::vector<std::string>& stops, const std::string& text, size_t step) {
  StopStrings finder(stops);
  std::string out;
  for (size_t i = 0; i < text.size(); i += step) out += finder.push(text.substr(i, step));
  return out + finder.finish();
}

TEST(StopStrings, CutBeforeTheFirstHoweverItArrives) {
  for (size_t step = 1; step < 12; ++step) {
    EXPECT_EQ(stopped({"END"}, "some text END and more END", step), "some text ");
    EXPECT_EQ(stopped({"nothing", "xt", "some text"}, "some text END", step), "") << step;
    EXPECT_EQ(stopped({"aab"}, "aaaab", step), "aa");
    EXPECT_EQ(stopped({"never"}, "some nev text neve", step), "some nev text neve");
    EXPECT_EQ(stopped({}, "some text", step), "some text");
  }
}

TEST(StopStrings, HoldsBackOnlyWhatCouldBecomeOne) {
  StopStrings finder({"</s>", "<|end|>"});
  EXPECT_EQ(finder.push("hello <"), "hello ");
  EXPECT_EQ(finder.push("|en"), "");
  EXPECT_EQ(finder.push("t"), "<|ent");
  EXPECT_EQ(finder.push("</"), "");
  EXPECT_FALSE(finder.found());
  EXPECT_EQ(finder.push("s> more"), "");
  EXPECT_TRUE(finder.found());
  EXPECT_EQ(finder.push("more"), "");
  EXPECT_EQ(finder.finish(), "");
}

}  // namespace
}  // namespace tercet
