// Replays what jinja2 rendered: tools/check_templates.py writes the cases.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.h"
#include "text/chat_template.h"

namespace tercet {
namespace {

const std::string kFolder = std::string(TERCET_SOURCE_DIR) + "/tests/text/templates/";
constexpr int64_t kShown = 20;  // differences that are printed

std::string template_source(const std::string& name) {
  const std::string path = name == "nano"
                               ? std::string(TERCET_SOURCE_DIR) + "/models/nano/chat_template.jinja"
                               : kFolder + name + ".jinja";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file) << path;
  return text.str();
}

/// What a case asks of the engine, as one line: the text, or the error.
std::string outcome(const nlohmann::json& one, const std::string& conversation,
                    std::map<std::string, ChatTemplate>& parsed) {
  const std::string name = one.value("template", "");
  try {
    if (name.empty()) {
      return "text: " + ChatTemplate::parse(one.at("source"), "case")
                            .render(conversation, one.at("add_generation_prompt"));
    }
    auto at = parsed.find(name);
    if (at == parsed.end()) at = parsed.emplace(name, ChatTemplate::parse(template_source(name), name)).first;
    return "text: " + at->second.render(conversation, one.at("add_generation_prompt"));
  } catch (const Error& error) {
    return "error: " + error.message();
  }
}

bool agrees(const nlohmann::json& one, const std::string& found) {
  if (one.contains("expected")) return found == "text: " + one.at("expected").get<std::string>();
  if (one.at("exact")) return found == "error: " + one.at("error").get<std::string>();
  return found.starts_with("error: ");
}

/// Replays a file of cases, one JSON object a line (without a conversation: the one before); returns their
/// number.
int64_t replay(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::map<std::string, ChatTemplate> parsed;
  std::string conversation;
  int64_t count = 0;
  int64_t different = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto one = nlohmann::json::parse(line);
    if (one.contains("conversation")) conversation = one.at("conversation");
    const std::string found = outcome(one, conversation, parsed);
    if (agrees(one, found) || ++different > kShown) continue;
    ADD_FAILURE() << "case " << count << " " << one.value("template", one.value("source", ""))
                  << "\n  conversation: " << conversation << "\n  jinja2: "
                  << (one.contains("expected") ? "text: " + one.at("expected").get<std::string>()
                                               : "error: " + one.at("error").get<std::string>())
                  << "\n  found:  " << found;
  }
  EXPECT_EQ(different, 0) << "of " << count << " cases";
  return count;
}

TEST(TemplateCases, Conversations) {
  EXPECT_GE(replay(kFolder + "cases/conversations.jsonl"), 40);
}

TEST(TemplateCases, Expressions) {
  EXPECT_GE(replay(kFolder + "cases/expressions.jsonl"), 300);
}

TEST(TemplateCases, FromEnvironment) {
  const char* path = std::getenv("TERCET_TEMPLATE_CASES");
  if (path == nullptr)
    GTEST_SKIP() << "TERCET_TEMPLATE_CASES names no file; tools/check_templates.py makes one";
  EXPECT_GT(replay(path), 0);
}

}  // namespace
}  // namespace tercet
