#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_parser.h"

namespace tercet {
namespace {

const std::string kHello = R"({"messages": [{"role": "user", "content": "Hello"}]})";

/// Renders a template of its own over a conversation.
std::string render(const std::string& source, const std::string& conversation = kHello) {
  return ChatTemplate::parse(source, "test.jinja").render(conversation, true);
}

/// The message of the error that rendering ends in.
std::string failure(const std::string& source, const std::string& conversation = kHello) {
  try {
    const std::string text = render(source, conversation);
    return "rendered " + std::to_string(text.size()) + " bytes: " + text.substr(0, 100);
  } catch (const Error& error) {
    return error.message();
  }
}

/// The message of the error that a template ends in when it may take only so many steps.
std::string failure_within(int64_t steps, const std::string& source) {
  const jinja::Program program = jinja::parse_template(source, "test");
  jinja::Limits limits;
  limits.steps = steps;
  try {
    return "rendered: " + jinja::Interpreter(program, limits).run({}).substr(0, 100);
  } catch (const Error& error) {
    return error.message();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

/// A model folder with the given files, removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("tercet_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ChatTemplate, BundledModel) {
  const auto model = ChatTemplate::load(std::string(TERCET_SOURCE_DIR) + "/models/nano");
  EXPECT_EQ(model.render(kHello, true),
            "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(
      model.render(R"({"messages": [{"role": "user", "content": "Hi"}], "enable_thinking": false})", true),
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(model.render(kHello, false), "<|im_start|>user\nHello<|im_end|>\n");
}

TEST(ChatTemplate, RaisedTextIsTheMessage) {
  try {
    render("{{ raise_exception('no \\'user\\' in ' ~ messages | length) }}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(error.message(), "no 'user' in 1");
    EXPECT_STREQ(error.what(), "no 'user' in 1");
  }
}

TEST(ChatTemplate, ErrorsNameFileAndLine) {
  try {
    render("a\nb\n{{ messages[0].tools.x }}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "'dict object' has no attribute 'tools'");
    EXPECT_EQ(error.context().file, "test.jinja:3");
  }
  EXPECT_TRUE(contains(failure("a\n\n{% if x %}\n{{ ] }}{% endif %}"), "line 4: "))
      << failure("a\n\n{{ ] }}");
  EXPECT_TRUE(contains(failure("{% include 'x' %}"), "'include' is not supported"));
  EXPECT_TRUE(contains(failure("\xff"), "UTF-8"));
}

TEST(ChatTemplate, LoadPrefersTheFile) {
  const Folder folder("chat_template_file");
  folder.write("tokenizer_config.json",
               R"({"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>",
      "pad_token": null, "additional_special_tokens": ["<a>"], "chat_template": "config"})");
  EXPECT_EQ(ChatTemplate::load(folder.path()).render(kHello, true), "config");
  folder.write("chat_template.jinja",
               "{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}{{ additional_special_tokens }}");
  EXPECT_EQ(ChatTemplate::load(folder.path()).render(kHello, true), "<s></s>False['<a>']");
  EXPECT_EQ(ChatTemplate::load(folder.path()).render(R"({"messages": [], "bos_token": "B"})", true),
            "B</s>False['<a>']");
}

TEST(ChatTemplate, LoadNamedTemplates) {
  const Folder folder("chat_template_names");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "plain"},
      {"name": "tool_use", "template": "tools {{ tools | length }}"}]})");
  const auto loaded = ChatTemplate::load(folder.path());
  EXPECT_EQ(loaded.render(kHello, true), "plain");
  EXPECT_EQ(loaded.render(R"({"messages": [], "tools": [{}]})", true), "tools 1");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "x"}]})");
  EXPECT_THROW(ChatTemplate::load(folder.path()).render(kHello, true), Error);
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag"}]})");
  EXPECT_THROW(ChatTemplate::load(folder.path()), Error);
  folder.write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_THROW(ChatTemplate::load(folder.path()), Error);
  folder.write("tokenizer_config.json", "{}");
  EXPECT_THROW(ChatTemplate::load(folder.path()), Error);
}

TEST(ChatTemplate, BadConversations) {
  const std::string source = "{{ messages }}";
  EXPECT_TRUE(contains(failure(source, "{"), "not valid JSON"));
  EXPECT_TRUE(contains(failure(source, "[]"), "not a JSON object"));
  EXPECT_TRUE(contains(failure(source, "{}"), "messages"));
  EXPECT_TRUE(contains(failure(source, "{\"messages\": \"\xff\"}"), "not valid JSON"));
  EXPECT_TRUE(contains(failure(source, R"({"messages": "\ud800"})"), "not valid JSON"));
  EXPECT_TRUE(contains(failure(source, "{\"messages\": " + std::string(100000, '[')), "nested"));
  EXPECT_TRUE(contains(failure(source, "{\"messages\": 1" + std::string(40, '0') + "}"), "128 bits"));
  EXPECT_EQ(render(source, "{\"messages\": 18446744073709551616}"), "18446744073709551616");
}

TEST(ChatTemplate, TimeIsLocalTime) {
  const auto now = [] {
    const std::time_t time = std::time(nullptr);
    std::tm local{};
    localtime_r(&time, &local);
    char text[64];
    std::strftime(text, sizeof(text), "%d %b %Y %H:%M", &local);
    return std::string(text);
  };
  const std::string before = now();
  const std::string found = render("{{ strftime_now('%d %b %Y %H:%M') }}");
  EXPECT_TRUE(found == before || found == now()) << found;
  EXPECT_TRUE(contains(failure("{{ strftime_now('" + repeated("%c", 1000) + "') }}"), "too much"));
}

TEST(ChatTemplate, StepsAreBounded) {
  const std::string endless =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  EXPECT_TRUE(contains(failure_within(200'000, endless), "steps"));
  // Shared parts make a value of 60 levels as large as 2^60.
  const std::string shared =
      "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
      "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
  EXPECT_TRUE(contains(failure_within(200'000, shared + "{{ ns.a == ns.b }}"), "steps"));
  EXPECT_TRUE(contains(failure_within(200'000, shared + "{{ ns.a | string }}"), "steps"));
  EXPECT_TRUE(contains(failure_within(200'000, shared + "{{ ns.a | tojson }}"), "steps"));
}

TEST(ChatTemplate, TextsAreBounded) {
  const std::string doubled =
      "{% set ns = namespace(s='ab') %}{% for i in range(100) %}"
      "{% set ns.s = ns.s + ns.s %}{% endfor %}";
  EXPECT_TRUE(contains(failure(doubled), "bytes"));
  for (const char* large :
       {"'a' * 10 ** 18", "'a' | center(10 ** 18)", "'a'.ljust(10 ** 18)", "'%1000000000d' % 1",
        "'{:1000000000}'.format(1)", "'5'.zfill(10 ** 12)", "'\\t'.expandtabs(10 ** 12)",
        "'a' | indent(10 ** 18)", "[[1]] | tojson(indent=10 ** 12)", "'x'.replace('', 'y' * 60000000 )"}) {
    const std::string message = failure(std::string("{{ ") + large + " }}");
    EXPECT_TRUE(contains(message, "bytes")) << large << ": " << message;
  }
  EXPECT_EQ(render("{{ [1] | tojson(indent=5000) | length }}"), "5005");  // as json.dumps
  EXPECT_TRUE(contains(failure("{{ [1] * 10 ** 18 }}"), "steps"));
  EXPECT_TRUE(contains(failure("{{ range(10 ** 18) }}"), "Range too big"));
}

TEST(ChatTemplate, SearchIsLinear) {
  const std::string setup = "{% set text = 'a' * 4000000 %}{% set needle = 'a' * 2000000 ~ 'b' %}";
  EXPECT_EQ(render(setup + "{{ needle in text }}{{ text.find(needle) }}{{ text.rfind(needle) }}"
                           "{{ text.split(needle) | length }}{{ text.count(needle) }}"),
            "False-1-110");
}

TEST(ChatTemplate, NestingIsBounded) {
  for (const auto& [open, close] : {std::pair{"(", ")"},
                                    {"[", "]"},
                                    {"{1:", "}"},
                                    {"-", ""},
                                    {"not ", ""},
                                    {"f(", ")"},
                                    {"1 if 1 else ", ""},
                                    {"x[", "]"}}) {
    EXPECT_TRUE(
        contains(failure("{{ " + repeated(open, 50000) + "1" + repeated(close, 50000) + " }}"), "nested"))
        << open;
  }
  for (const char* chain : {" + 1", "|abs", ".x", "[0]", " or 1", " and 1", "()", " if 1", " ** 1"}) {
    EXPECT_TRUE(contains(failure("{{ 1" + repeated(chain, 50000) + " }}"), "levels")) << chain;
  }
  EXPECT_TRUE(contains(failure(repeated("{% if 1 %}", 50000)), "nested"));
  EXPECT_TRUE(contains(failure(repeated("{% for x in [1] %}", 50000)), "nested"));
  EXPECT_EQ(render("{{ 1" + repeated(" + 1", 300) + " }}"), "301");
  EXPECT_EQ(render("{{ 1" + repeated(" ~ 1", 5000) + " }}").size(), 5001U);
  EXPECT_EQ(render("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}x{% endif %}"), "x");
}

TEST(ChatTemplate, RecursionIsBounded) {
  EXPECT_TRUE(contains(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "levels deep"));
  EXPECT_TRUE(contains(
      failure("{% macro m(n) %}{% for x in [1] %}{% if true %}{{ (m(n + 1) | trim) ~ '' }}{% endif %}"
              "{% endfor %}{% endmacro %}{{ m(0) }}"),
      "levels deep"));
  EXPECT_TRUE(contains(failure("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "levels deep"));
  EXPECT_EQ(
      render("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% else %}end{% endif %}{% endmacro %}{{ m(100) }}"),
      "end");
}

TEST(ChatTemplate, ValuesNestBoundedly) {
  const std::string loop = "{% set ns = namespace(x=none) %}{% for i in range(1000) %}{% set ns.x = ";
  for (const char* next : {"[ns.x]", "(ns.x,)", "{1: ns.x}", "{'a': ns.x}.values()", "[ns.x].copy"}) {
    EXPECT_TRUE(contains(failure(loop + next + " %}{% endfor %}"), "deep")) << next;
  }
  EXPECT_TRUE(contains(failure("{% set ns = namespace(x=[1]) %}{% for i in range(1000) %}"
                               "{% set ns.x = ns.x | map('string') %}{% endfor %}"),
                       "deep"));
}

TEST(ChatTemplate, CyclesAreReleased) {
  // The leak checker of a sanitizer build watches these.
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.l = [ns] %}ok"), "ok");
  EXPECT_EQ(render("{% set ns = namespace() %}{% macro m() %}{{ ns }}{% endmacro %}{% set ns.m = m %}ok"),
            "ok");
  EXPECT_EQ(
      render("{% set ns = namespace() %}{% for x in [1] %}{% set ns.loop = loop %}"
             "{% set ns.f = loop.changed %}{% if loop.changed(loop.changed) %}ok{% endif %}{% endfor %}"),
      "ok");
  EXPECT_TRUE(contains(failure("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}"), "levels deep"));
}

TEST(ChatTemplate, EscapedMacrosKeepTheirScope) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}"
                   "{% set ns.m = m %}{% endfor %}{{ ns.m() }}"),
            "2");
}

TEST(ChatTemplate, SmallLimitsHold) {
  const jinja::Program program = jinja::parse_template("{% for i in range(50) %}{{ i }}{% endfor %}", "test");
  jinja::Limits limits;
  EXPECT_EQ(jinja::Interpreter(program, limits).run({}).size(), 90U);
  limits.steps = 100;
  EXPECT_THROW(jinja::Interpreter(program, limits).run({}), Error);
  limits = {};
  limits.text_bytes = 80;
  EXPECT_THROW(jinja::Interpreter(program, limits).run({}), Error);
  limits = {};
  limits.total_bytes = 80;
  EXPECT_THROW(jinja::Interpreter(program, limits).run({}), Error);
}

}  // namespace
}  // namespace tercet
