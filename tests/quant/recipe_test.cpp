#include "quant/recipe.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tercet {
namespace {

constexpr const char* kDown = "model.language_model.layers.1.mlp.experts.5.down_proj";

TEST(Recipe, FirstMatchingRuleDecidesButKeepingComesFirst) {
  const Recipe recipe =
      Recipe::parse(R"({"+:.*down_proj": {"bits": 3, "group_size": 64}, "+:.*experts": {"bits": 2},
                                          ".*q_proj": {"method": "rtn"}, "-:.*layers\\.0\\.": {}})",
                    "rules.json");
  const MatrixSettings defaults{QuantizeMethod::kGptq, 4, 128};
  const auto down = recipe.decide(kDown, defaults, false);
  EXPECT_EQ(down->bits, 3);
  EXPECT_EQ(down->group_size, 64);
  EXPECT_EQ(recipe.decide("model.layers.1.mlp.experts.5.up_proj", defaults, false)->bits, 2);
  EXPECT_EQ(recipe.decide("model.layers.1.self_attn.q_proj", defaults, false)->method, QuantizeMethod::kRtn);
  EXPECT_FALSE(recipe.decide("model.layers.0.mlp.experts.5.down_proj", defaults, false));
  EXPECT_EQ(recipe.decide("model.layers.1.self_attn.k_proj", defaults, false)->bits, 4);
}

TEST(Recipe, PatternsMeetTheStartOfTheName) {
  const Recipe recipe = Recipe::parse(R"({"-:mlp": {}, "-:model.*up_proj": {}})", "rules.json");
  EXPECT_TRUE(recipe.decide(kDown, {}, false));
  EXPECT_FALSE(recipe.decide("model.layers.0.mlp.up_proj", {}, false));
}

TEST(Recipe, TheHeadIsQuantizedByARuleThatNamesIt) {
  EXPECT_FALSE(Recipe::parse("", "rules.json").decide("lm_head", {}, true));
  EXPECT_EQ(Recipe::parse(R"({"lm_head": {"bits": 8}})", "rules.json").decide("lm_head", {}, true)->bits, 8);
}

TEST(Recipe, MistakesAreUsageErrors) {
  for (const char* text :
       {"[]", "{", R"({"+:(": {}})", R"({"a": 3})", R"({"a": {"bits": 5}})", R"({"a": {"group_size": 48}})",
        R"({"a": {"method": "awq"}})", R"({"a": {"sym": true}})", R"({"-:a": {"bits": 4}})",
        R"({"+:a": {"bits": 4}, "a": {"bits": 3}})", R"({"a": {"bits": 4.0}})", R"({"a": {"bits": "4"}})"}) {
    try {
      Recipe::parse(text, "rules.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
      EXPECT_EQ(error.context().file, "rules.json") << text;
    }
  }
}

TEST(Options, ThresholdsAreSharesOrCounts) {
  EXPECT_EQ(parse_fallback_threshold("0.5%").tokens(131072), 656);
  EXPECT_EQ(parse_fallback_threshold("1000").tokens(131072), 1000);
  EXPECT_EQ(parse_fallback_threshold("0").tokens(131072), 0);
  for (const char* text : {"", "%", "-1", "0.5", "101%", "1e", "nan", "5 %"}) {
    EXPECT_THROW(parse_fallback_threshold(text), Error) << text;
  }
}

TEST(Options, ValuesOutOfRangeAreNamed) {
  const auto refused = [](auto change) {
    QuantizeOptions options;
    change(options);
    try {
      check_options(options);
    } catch (const Error& error) {
      return error.message().substr(0, error.message().find(' '));
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](QuantizeOptions&) {}), "accepted");
  EXPECT_EQ(refused([](QuantizeOptions& o) { o.bits = 5; }), "--bits");
  EXPECT_EQ(refused([](QuantizeOptions& o) { o.group_size = 0; }), "--group-size");
  EXPECT_EQ(refused([](QuantizeOptions& o) { o.damp = 0; }), "--damp");
  EXPECT_EQ(refused([](QuantizeOptions& o) { o.refit_rounds = -1; }), "--refit");
}

}  // namespace
}  // namespace tercet
