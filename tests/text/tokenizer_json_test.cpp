#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/tokenizer.h"

namespace tercet {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

/// A valid file: 256 bytes, 15 merges, 3 added tokens (271 ... 273).
const Json& small() {
  static const Json file = [] {
    std::ifstream stream(TERCET_SOURCE_DIR "/fuzz/corpus/tokenizer_json/small.json");
    return Json::parse(stream);
  }();
  return file;
}

Tokenizer parse(const Json& file) {
  return Tokenizer::parse(file.dump(), "tokenizer.json");
}

TEST(TokenizerJson, MergesAsStringsAndAsPairs) {
  const std::string text = "hello world  <|end|>> <|end|> aaaaa \u4e2d";
  const Ids expected = {259, 264, 267, 272, 220, 271, 220, 270, 64, 220, 266};
  EXPECT_EQ(parse(small()).encode(text), expected);
  Json pairs = small();
  for (Json& merge : pairs["model"]["merges"]) {
    const std::string both = merge;
    merge = {both.substr(0, both.find(' ')), both.substr(both.find(' ') + 1)};
  }
  EXPECT_EQ(parse(pairs).encode(text), expected);
}

TEST(TokenizerJson, LongestOfTheLeftmostAddedTokens) {
  const Tokenizer tokenizer = parse(small());
  EXPECT_EQ(tokenizer.encode("<|end|>>"), Ids{272});
  EXPECT_EQ(tokenizer.encode("<|end|><|end|>>"), (Ids{271, 272}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("<<|end<|end|>")), "<<|end<|end|>");
}

TEST(TokenizerJson, AddedTokenMayRepeatTheVocabulary) {
  Json file = small();
  file["added_tokens"].push_back(file["added_tokens"][0]);
  file["added_tokens"].back()["content"] = "hello";
  file["added_tokens"].back()["id"] = file["model"]["vocab"]["hello"];
  const Tokenizer tokenizer = parse(file);
  EXPECT_EQ(tokenizer.vocab_size(), 274);
  EXPECT_TRUE(tokenizer.is_special(*tokenizer.token_to_id("hello")));
  EXPECT_EQ(tokenizer.encode("xhello").back(), *tokenizer.token_to_id("hello"));
}

TEST(TokenizerJson, WhatChangesNothingIsAccepted) {
  Json file = small();
  file["post_processor"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  file["model"]["continuing_subword_prefix"] = "";
  file["model"]["end_of_word_suffix"] = "";
  file["model"].erase("ignore_merges");
  EXPECT_EQ(parse(file).encode("hello"), parse(small()).encode("hello"));
}

struct Broken {
  const char* where;  // the message names it
  std::function<void(Json&)> change;
};

const Broken kBroken[] = {
    {"the file", [](Json& f) { f = Json::array(); }},
    {"'decoders'", [](Json& f) { f["decoders"] = nullptr; }},
    {"version", [](Json& f) { f["version"] = "2.0"; }},
    {"truncation",
     [](Json& f) {
       f["truncation"] = {{"max_length", 5}};
     }},
    {"padding", [](Json& f) { f["padding"] = Json::object(); }},
    {"normalizer", [](Json& f) { f["normalizer"] = nullptr; }},
    {"normalizer.type", [](Json& f) { f["normalizer"]["type"] = "NFKC"; }},
    {"pre_tokenizer.type", [](Json& f) { f["pre_tokenizer"]["type"] = "Whitespace"; }},
    {"pre_tokenizer.pretokenizers", [](Json& f) { f["pre_tokenizer"]["pretokenizers"].erase(1); }},
    {"pretokenizers[0].behavior",
     [](Json& f) { f["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed"; }},
    {"pretokenizers[0].invert", [](Json& f) { f["pre_tokenizer"]["pretokenizers"][0]["invert"] = true; }},
    {"pattern",
     [](Json& f) {
       f["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {{"String", " "}};
     }},
    {"does not compile", [](Json& f) { f["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a"; }},
    {"cuts nothing off", [](Json& f) { f["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "a*"; }},
    {"pretokenizers[1].use_regex",
     [](Json& f) { f["pre_tokenizer"]["pretokenizers"][1]["use_regex"] = true; }},
    {"pretokenizers[1].add_prefix_space",
     [](Json& f) { f["pre_tokenizer"]["pretokenizers"][1].erase("add_prefix_space"); }},
    {"post_processor.type",
     [](Json& f) {
       f["post_processor"] = {{"type", "BertProcessing"}};
     }},
    {"decoder", [](Json& f) { f.erase("decoder"); }},
    {"decoder.type", [](Json& f) { f["decoder"]["type"] = "WordPiece"; }},
    {"model.type", [](Json& f) { f["model"]["type"] = "Unigram"; }},
    {"model.dropout", [](Json& f) { f["model"]["dropout"] = 0.1; }},
    {"model.unk_token", [](Json& f) { f["model"]["unk_token"] = "<unk>"; }},
    {"model.byte_fallback", [](Json& f) { f["model"]["byte_fallback"] = true; }},
    {"model.ignore_merges", [](Json& f) { f["model"]["ignore_merges"] = true; }},
    {"model.vocab", [](Json& f) { f["model"]["vocab"] = Json::array(); }},
    {"two tokens of one id", [](Json& f) { f["model"]["vocab"]["hello"] = 0; }},
    {"no usable id", [](Json& f) { f["model"]["vocab"]["hello"] = -1; }},
    {"no usable id", [](Json& f) { f["model"]["vocab"]["hello"] = 1e3; }},
    {"no usable id", [](Json& f) { f["added_tokens"][0]["id"] = 4000000000; }},
    {"empty token", [](Json& f) { f["added_tokens"][0]["content"] = ""; }},
    {"not byte-level",
     [](Json& f) {
       f["model"]["vocab"]["xx"] = f["model"]["vocab"]["x"];
       f["model"]["vocab"].erase("x");
     }},
    {"model.merges", [](Json& f) { f["model"]["merges"] = "h e"; }},
    {"model.merges[0] is no pair", [](Json& f) { f["model"]["merges"][0] = "he"; }},
    {"model.merges[1] is no pair",
     [](Json& f) {
       f["model"]["merges"][1] = {"l", "l", "l"};
     }},
    {"model.merges[2] names a token", [](Json& f) { f["model"]["merges"][2] = "hell w"; }},
    {"pair twice", [](Json& f) { f["model"]["merges"].push_back("h e"); }},
    {"added_tokens", [](Json& f) { f.erase("added_tokens"); }},
    {"added_tokens[0].lstrip", [](Json& f) { f["added_tokens"][0]["lstrip"] = true; }},
    {"added_tokens[1].rstrip", [](Json& f) { f["added_tokens"][1]["rstrip"] = true; }},
    {"added_tokens[2].single_word", [](Json& f) { f["added_tokens"][2]["single_word"] = true; }},
    {"added_tokens[0].normalized", [](Json& f) { f["added_tokens"][0]["normalized"] = true; }},
    {"added_tokens[0].special", [](Json& f) { f["added_tokens"][0]["special"] = 1; }},
    {"added_tokens[3] repeats another", [](Json& f) { f["added_tokens"].push_back(f["added_tokens"][0]); }},
    {"model.merges[15] names a token",
     [](Json& f) {
       f["added_tokens"][0]["content"] = "hellohello";
       f["model"]["merges"].push_back("hello hello");
     }},
    {"another id than the vocabulary", [](Json& f) { f["added_tokens"][0]["content"] = "hello"; }},
};

TEST(TokenizerJson, RefusesByName) {
  for (const Broken& broken : kBroken) {
    Json file = small();
    broken.change(file);
    try {
      parse(file);
      ADD_FAILURE() << "accepted: " << broken.where;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint) << broken.where;
      EXPECT_EQ(error.context().file, "tokenizer.json") << broken.where;
      EXPECT_NE(std::string(error.what()).find(broken.where), std::string::npos) << error.what();
      EXPECT_FALSE(error.context().expected.empty()) << error.what();
      EXPECT_FALSE(error.context().found.empty()) << error.what();
    }
  }
}

TEST(TokenizerJson, RefusesWhatIsNoJson) {
  const std::string whole = small().dump();
  const std::string texts[] = {"",
                               "{",
                               whole.substr(0, whole.size() / 2),
                               whole + "}",
                               std::string(100000, '['),
                               "{\"a\": \"\xff\"}",
                               "{\"a\": \"\\ud800\"}",
                               "{\"a\": 1e999}"};
  for (const std::string& text : texts) EXPECT_THROW(Tokenizer::parse(text, "tokenizer.json"), Error);
}

TEST(TokenizerJson, AHostilePatternEndsInAnError) {
  Json file = small();
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(x+x+)+[yz]";
  const Tokenizer tokenizer = parse(file);
  EXPECT_THROW(tokenizer.encode(std::string(2000, 'x')), Error);
}

}  // namespace
}  // namespace tercet
