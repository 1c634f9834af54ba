#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tercet {

/// A model's chat template: turns a conversation into the text that the model continues. A Jinja interpreter
/// renders it as the transformers library does (immutable sandbox, trim_blocks, lstrip_blocks, loop controls,
/// tojson without HTML escapes, raise_exception, strftime_now, generation blocks). A template is untrusted:
/// nesting, steps and the length of texts are bounded. Copies share; rendering is safe from several threads.
class ChatTemplate {
 public:
  /// chat_template.jinja of a folder, else the chat_template of its tokenizer_config.json: a text, or a list
  /// of named ones, of which "tool_use" is taken for conversations with tools and "default" otherwise.
  /// Special tokens of tokenizer_config.json (bos_token, eos_token ...) become variables. Fails where the
  /// folder has no template.
  static ChatTemplate load(const std::string& model_folder);

  /// A template on its own, without special tokens. `name` is what errors call it.
  static ChatTemplate parse(std::string source, std::string name);

  /// The text of a conversation: a JSON object with `messages`, and optionally `tools`, `documents` and any
  /// other variable (`enable_thinking` ...). `name` is what errors call it. Fails with tercet::Error
  /// (kUsage); after the template's raise_exception(text) the message is exactly that text.
  std::string render(std::string_view conversation_json, bool add_generation_prompt,
                     const std::string& name = "the conversation") const;

 private:
  struct Content;
  explicit ChatTemplate(std::shared_ptr<const Content> content);

  std::shared_ptr<const Content> content_;
};

}  // namespace tercet
