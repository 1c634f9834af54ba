// A chat template, a zero byte, and a conversation: rendering ends with text or tercet::Error, within the
// limits.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_parser.h"
#include "text/value_json.h"

namespace {

constexpr tercet::jinja::Limits kLimits{.steps = 3'000, .text_bytes = 1 << 14, .total_bytes = 1 << 17};

constexpr const char* kConversation =
    R"({"messages": [{"role": "user", "content": "Hi \u00fc"}, {"role": "assistant", "content": null,
        "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, "y"]}}}]}], "tools": null,
        "s": "Hello", "l": [3, 1, 2], "d": {"a": 1, "b": {"c": []}}, "n": 7, "f": -0.5})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tercet;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  try {
    const jinja::Program program = jinja::parse_template(input.substr(0, end), "fuzz");
    const jinja::Value conversation =
        jinja::parse_json(end == std::string::npos ? kConversation : input.substr(end + 1), "conversation");
    if (conversation.is_dict()) jinja::Interpreter(program, kLimits).run(conversation.as_dict());
  } catch (const Error&) {
  }
  return 0;
}
