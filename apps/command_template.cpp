#include "console.h"
#include "files.h"
#include "options.h"
#include "text/chat_template.h"

namespace tercet {

int run_template(const TemplateOptions& options) {
  const ChatTemplate chat_template = ChatTemplate::load(options.model);
  const std::string text =
      chat_template.render(read_file(options.messages), !options.no_generation_prompt, options.messages);
  print(options.common.json ? JsonObject().set("text", text).text() + "\n" : text);
  return 0;
}

}  // namespace tercet
