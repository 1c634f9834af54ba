#include "conversation.h"

#include "json_output.h"

namespace tercet {

std::string conversation_json(const jinja::Value& messages, const jinja::Value& tools, bool enable_thinking) {
  return JsonObject()
      .set_value("messages", messages)
      .set_value("tools", tools)
      .set("enable_thinking", enable_thinking)
      .text();
}

}  // namespace tercet
