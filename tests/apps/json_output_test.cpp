#include "json_output.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tercet {
namespace {

JsonObject run(const std::string& phase, double median, int64_t bytes) {
  return JsonObject()
      .set("phase", phase)
      .set("tokens_per_second", JsonObject().set("median", median).set("min", 9.5).set("max", 1e6))
      .set("bytes_per_token", bytes);
}

TEST(JsonOutput, TextIsOneLineOfJson) {
  const JsonObject object =
      JsonObject().set("a", 1).set("b", NAN).set("c", "x\n\"").set("d", std::vector<int>{1, 2});
  EXPECT_EQ(object.text(), R"({"a": 1, "b": null, "c": "x\n\"", "d": [1, 2]})");
}

TEST(JsonOutput, LinesHaveUnitsAndTables) {
  const JsonObject report =
      JsonObject()
          .set("parameters", 14331160)
          .set("bytes", 28662728)
          .set("bits_per_weight", 16.0003)
          .set("read_bytes_per_second", 27.8e9)
          .set("seconds", 2.6438)
          .set("text_seconds", 4321.0)
          .set("largest_bytes", 999600)
          .set("nothing", -0.0)
          .set("top1", 0.9226)
          .set("perplexity", NAN)
          .set("deep", JsonObject().set("mean", 0.00848).set("count", -1234))
          .set("by_category", JsonObject()
                                  .set("add", JsonObject().set("count", 50).set("correct", 6))
                                  .set("sub", JsonObject().set("count", 5).set("correct", 0)))
          .set("runs", std::vector<JsonObject>{run("prompt", 24936.4, 999), run("decode", 16.16, 1650000000)})
          .set("none", std::vector<JsonObject>{});
  EXPECT_EQ(report.lines(),
            "parameters             14,331,160\n"
            "bytes                  28.7 MB\n"
            "bits per weight        16\n"
            "read bytes per second  27.8 GB/s\n"
            "seconds                2.64 s\n"
            "text seconds           4,321 s\n"
            "largest bytes          1 MB\n"
            "nothing                0\n"
            "top1                   92.3 %\n"
            "perplexity             -\n"
            "deep\n"
            "  mean   0.00848\n"
            "  count  -1,234\n"
            "by category\n"
            "       count  correct\n"
            "  add     50        6\n"
            "  sub      5        0\n"
            "runs\n"
            "  phase           tokens per second  bytes per token\n"
            "  prompt  24,936 (9.5 to 1,000,000)            999 B\n"
            "  decode   16.16 (9.5 to 1,000,000)          1.65 GB\n"
            "none                   []\n");
}

}  // namespace
}  // namespace tercet
