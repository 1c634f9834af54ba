#include "text/chat_template.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_parser.h"
#include "text/value.h"
#include "text/value_json.h"

namespace tercet {
namespace {

using jinja::Dict;
using jinja::Value;

struct NamedTemplate {
  std::string name;  // of the list in tokenizer_config.json; "default" where there is one
  std::string file;  // for errors
  jinja::Program program;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(ErrorKind::kIo, "cannot be read", {.file = path.string()});
  return std::move(text).str();
}

/// A token of tokenizer_config.json: its text, or an object with the text as "content".
Value token_text(const Value& token) {
  if (!token.is_dict()) return token;
  const Value* content = token.as_dict().find("content");
  return content != nullptr ? *content : Value::none();
}

/// The special tokens that transformers gives to templates.
Dict special_tokens(const Dict& config) {
  Dict tokens;
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Value* token = config.find(name);
    if (token == nullptr) continue;
    if (Value text = token_text(*token); text.is_string()) tokens.set(name, std::move(text));
  }
  const Value* more = config.find("additional_special_tokens");
  if (more != nullptr && more->is_sequence() && !more->items().empty()) {
    jinja::List texts;
    for (const Value& token : more->items()) texts.push_back(token_text(token));
    tokens.set("additional_special_tokens", Value::list(std::move(texts)));
  }
  const Value* named = config.find("extra_special_tokens");
  if (named != nullptr && named->is_dict()) {
    for (const auto& [name, token] : named->as_dict().items())
      tokens.set(name.as_string(), token_text(token));
  }
  return tokens;
}

NamedTemplate named_template(const Value& entry, const std::string& file) {
  if (entry.is_dict()) {
    const Value* name = entry.as_dict().find("name");
    const Value* source = entry.as_dict().find("template");
    if (name != nullptr && name->is_string() && source != nullptr && source->is_string()) {
      return {name->as_string(), file, jinja::parse_template(source->as_string(), file)};
    }
  }
  throw Error(ErrorKind::kCheckpoint,
              "a chat_template that is a list needs entries with a name and a template", {.file = file});
}

std::vector<NamedTemplate> templates_of(const Value& entry, const std::string& file) {
  std::vector<NamedTemplate> templates;
  if (entry.is_string()) {
    templates.push_back({"default", file, jinja::parse_template(entry.as_string(), file)});
  } else if (entry.is_sequence()) {
    for (const Value& item : entry.items()) templates.push_back(named_template(item, file));
  } else {
    throw Error(ErrorKind::kCheckpoint, "chat_template is of the wrong type",
                {.file = file, .expected = "a text or a list", .found = entry.type_name()});
  }
  return templates;
}

const NamedTemplate& chosen(const std::vector<NamedTemplate>& templates, bool with_tools) {
  const auto find = [&](std::string_view name) -> const NamedTemplate* {
    for (const NamedTemplate& entry : templates) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  };
  const NamedTemplate* found = with_tools ? find("tool_use") : nullptr;
  if (found == nullptr) found = find("default");
  if (found != nullptr) return *found;
  throw Error(ErrorKind::kCheckpoint, "the chat templates have no one named \"default\"; add it",
              {.file = templates.empty() ? "" : templates.front().file});
}

/// The variables of one rendering.
Dict variables_of(const Dict& tokens, const Dict& conversation, bool add_generation_prompt,
                  const std::string& name) {
  if (conversation.find("messages") == nullptr) {
    throw Error(ErrorKind::kUsage, "no \"messages\" in it; give a JSON object that has them", {.file = name});
  }
  Dict variables = tokens;
  variables.set("tools", Value::none());
  variables.set("documents", Value::none());
  for (const auto& [key, value] : conversation.items()) variables.set(key.as_string(), value);
  variables.set("add_generation_prompt", Value(add_generation_prompt));
  return variables;
}

std::string rendered(const NamedTemplate& entry, const Dict& variables) {
  jinja::Interpreter interpreter(entry.program, jinja::Limits{});
  try {
    return interpreter.run(variables);
  } catch (const jinja::RaisedByTemplate&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.kind(), error.message(),
                {.file = entry.file + ":" + std::to_string(interpreter.line())});
  }
}

}  // namespace

struct ChatTemplate::Content {
  std::vector<NamedTemplate> templates;
  Dict tokens;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

ChatTemplate ChatTemplate::load(const std::string& model_folder) {
  const std::filesystem::path folder(model_folder);
  const std::filesystem::path config_path = folder / "tokenizer_config.json";
  const std::filesystem::path template_path = folder / "chat_template.jinja";
  auto content = std::make_shared<Content>();
  const Value* entry = nullptr;
  Value config;
  if (std::filesystem::exists(config_path)) {
    config = jinja::parse_json(read_file(config_path), config_path.string());
    if (!config.is_dict())
      throw Error(ErrorKind::kCheckpoint, "not a JSON object", {.file = config_path.string()});
    content->tokens = special_tokens(config.as_dict());
    entry = config.as_dict().find("chat_template");
  }
  if (std::filesystem::exists(template_path)) {
    content->templates = templates_of(Value(read_file(template_path)), template_path.string());
  } else if (entry != nullptr && !entry->is_none()) {
    content->templates = templates_of(*entry, config_path.string());
  } else {
    throw Error(ErrorKind::kCheckpoint, "the model has no chat template; use a raw prompt, or add the file",
                {.file = template_path.string()});
  }
  return ChatTemplate(std::move(content));
}

ChatTemplate ChatTemplate::parse(std::string source, std::string name) {
  auto content = std::make_shared<Content>();
  content->templates = templates_of(Value(std::move(source)), name);
  return ChatTemplate(std::move(content));
}

std::string ChatTemplate::render(std::string_view conversation_json, bool add_generation_prompt,
                                 const std::string& name) const {
  const Value conversation = jinja::parse_json(conversation_json, name);
  if (!conversation.is_dict()) {
    throw Error(ErrorKind::kUsage, "not a JSON object", {.file = name, .found = conversation.type_name()});
  }
  const Dict variables = variables_of(content_->tokens, conversation.as_dict(), add_generation_prompt, name);
  const Value* tools = variables.find("tools");
  return rendered(chosen(content_->templates, !tools->is_none()), variables);
}

}  // namespace tercet
