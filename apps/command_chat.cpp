#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "console.h"
#include "conversation.h"
#include "generation_config.h"
#include "interrupt.h"
#include "loaded_model.h"
#include "reply_text.h"
#include "runtime/generator.h"
#include "text/chat_template.h"
#include "text/unicode.h"

namespace tercet {
namespace {

constexpr const char* kHelp =
    "/reset forgets the conversation, /exit ends (so does Ctrl-D), Ctrl-C stops a reply\n";

/// A sequence's state and the tokens that it has seen.
struct Snapshot {
  std::vector<int32_t> tokens;
  SequenceState state;
};

/// Whether `snapshot` is there and its tokens begin `prompt` and leave some of it.
bool continues(const std::optional<Snapshot>& snapshot, const std::vector<int32_t>& prompt) {
  return snapshot && snapshot->tokens.size() < prompt.size() &&
         std::equal(snapshot->tokens.begin(), snapshot->tokens.end(), prompt.begin());
}

/// Sets reasoning, which ends at its mark, apart from the reply: in a terminal's faint letters.
ReplyText::Sink fainter_reasoning(const ReplyText::Sink& sink) {
  sink("\x1b[2m");
  return [sink, inside = true](const std::string& piece) mutable {
    constexpr std::string_view kEnd = "</think>";
    const size_t end = inside ? piece.find(kEnd) : std::string::npos;
    if (end == std::string::npos) return sink(piece);
    inside = false;
    sink(piece.substr(0, end) + "\x1b[0m" + piece.substr(end + kEnd.size()));
  };
}

/// A conversation with its warm states: one behind the last reply, and, as templates drop reasoning from
/// earlier turns, one at the end of the last message before it.
class Chat {
 public:
  Chat(const ChatOptions& options, LoadedModel& loaded, const Tokenizer& tokenizer, const StepSize& size)
      : options_(options),
        context_(size.context),
        tokenizer_(tokenizer),
        template_(ChatTemplate::load(options.model)),
        defaults_(read_generation_config(options.model)),
        pool_(*loaded.backend, state_shape(loaded.model->config(), false), pages_for(size.context) + 4, 3),
        generator_(*loaded.model, pool_, size, tokenizer.vocab_size()),
        interrupted_(catch_interrupts()) {
    reset();
  }

  void reset() {
    messages_.clear();
    border_.reset();
    after_.reset();
    if (!options_.system.empty()) say("system", options_.system);
  }

  /// How a turn ended. kFull: the message is not taken, nor is it where Ctrl-C came before a reply began.
  enum class End { kStop, kLength, kCancelled, kFull };

  /// One message and the reply to it, whose text goes to `sink` as it is made.
  End turn(const std::string& message, const ReplyText::Sink& sink) {
    interrupted_.store(false);
    say("user", message);
    const std::string conversation =
        conversation_json(jinja::Value::list(messages_), jinja::Value::none(), options_.thinking == "on");
    const std::string rendered = template_.render(conversation, true);
    Request request;
    request.prompt = tokenizer_.encode(rendered);
    const int64_t room = context_ - std::ssize(request.prompt);
    if (room < 1) {
      messages_.pop_back();
      return End::kFull;
    }
    request.state = warm_state(request.prompt, tokenizer_.encode(template_.render(conversation, false)));
    if (interrupted_.load()) {
      messages_.pop_back();
      return End::kCancelled;
    }
    request.sampling = merge(defaults_.sampling, options_.sampling);
    request.max_tokens = std::min(options_.max_tokens, room);
    request.stop_ids = defaults_.stop_ids;
    request.keep_state = true;
    return answer(std::move(request), sink, rendered.ends_with("<think>\n"));
  }

  const jinja::List& messages() const { return messages_; }

 private:
  void say(const std::string& role, const std::string& content) {
    jinja::Dict message;
    message.set("role", jinja::Value(role));
    message.set("content", jinja::Value(lossy_utf8(content)));
    messages_.push_back(jinja::Value::dict(std::move(message)));
  }

  /// A state for the start of `prompt` that ends at the message border before the reply, if the border is
  /// one; leaves a snapshot there.
  std::optional<SequenceState> warm_state(const std::vector<int32_t>& prompt, std::vector<int32_t> border) {
    std::optional<SequenceState> state;
    if (continues(after_, prompt)) {
      state = std::move(after_->state);
    } else if (continues(border_, prompt)) {
      state = std::move(border_->state);
    }
    after_.reset();
    border_.reset();
    const bool is_border =
        border.size() < prompt.size() && std::equal(border.begin(), border.end(), prompt.begin());
    if (!is_border || (state && state->length() >= std::ssize(border))) return state;
    if (!state) state.emplace(pool_);
    const auto rest = std::span(border).subspan(static_cast<size_t>(state->length()));
    if (!generator_.prefill(*state, rest, &interrupted_)) return std::nullopt;
    border_ = Snapshot{std::move(border), state->fork()};
    return state;
  }

  End answer(Request request, const ReplyText::Sink& sink, bool reasons) {
    const bool faint = reasons && sink && isatty(STDOUT_FILENO) == 1;
    ReplyText text(tokenizer_, request.stop_ids, {}, faint ? fainter_reasoning(sink) : sink);
    request.on_token = [&](int32_t token) { return text.push(token); };
    std::vector<int32_t> tokens = request.prompt;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    Reply reply = std::move(generator_.run(std::move(requests), &interrupted_).front());
    text.finish();
    if (faint) sink("\x1b[0m");
    const bool cut = reasons && text.text().find("</think>") == std::string::npos;
    say("assistant", cut ? text.text() + "\n</think>\n\n" : text.text());
    if (reply.state) {
      tokens.insert(tokens.end(), reply.tokens.begin(), reply.tokens.end());
      tokens.resize(static_cast<size_t>(reply.state->length()));
      after_ = Snapshot{std::move(tokens), std::move(*reply.state)};
    }
    if (reply.reason == FinishReason::kCancelled) return End::kCancelled;
    return reply.reason == FinishReason::kLength ? End::kLength : End::kStop;
  }

  const ChatOptions& options_;
  int64_t context_;
  const Tokenizer& tokenizer_;
  ChatTemplate template_;
  GenerationConfig defaults_;
  StatePool pool_;
  Generator generator_;
  std::atomic<bool>& interrupted_;
  jinja::List messages_;
  std::optional<Snapshot> border_;
  std::optional<Snapshot> after_;
};

/// Reads lines until the input or the user ends.
void converse(Chat& chat, const ReplyText::Sink& sink, bool terminal) {
  for (std::string line;;) {
    if (terminal) print("> ");
    if (!std::getline(std::cin, line) || line == "/exit") return;
    if (line.empty()) continue;
    if (line == "/reset") {
      chat.reset();
    } else if (line == "/help") {
      log_info(kHelp);
    } else {
      const Chat::End end = chat.turn(line, sink);
      if (sink) sink("\n");
      if (end == Chat::End::kFull) {
        log_warning("the conversation fills the context: /reset, or start with a larger --context");
      } else if (end == Chat::End::kLength) {
        log_info("the reply is cut: --max-tokens or --context ends it");
      } else if (end == Chat::End::kCancelled) {
        log_info("stopped; /exit or Ctrl-D ends the program");
      }
    }
  }
}

}  // namespace

int run_chat(const ChatOptions& options) {
  auto checkpoint = Checkpoint::open(options.model);
  const Tokenizer tokenizer = load_tokenizer(*checkpoint);
  const int64_t context = std::min(options.context, checkpoint->config().max_position_embeddings);
  const StepSize size = {.rows = 512, .sequences = 1, .context = context, .logit_rows = 1};
  LoadedModel loaded = load_model(options.common, std::move(checkpoint), size);
  if (isatty(STDOUT_FILENO) == 1) say_when_stopped("\x1b[0m\n");  // no faint letters are left behind
  Chat chat(options, loaded, tokenizer, size);
  const bool terminal = isatty(STDIN_FILENO) == 1 && !options.common.json;
  if (terminal) log_info(kHelp);
  converse(chat, options.common.json ? ReplyText::Sink() : print, terminal);
  if (options.common.json) {
    std::vector<JsonObject> messages;
    for (const jinja::Value& message : chat.messages()) {
      messages.push_back(JsonObject()
                             .set("role", message.as_dict().find("role")->as_string())
                             .set("content", message.as_dict().find("content")->as_string()));
    }
    print(JsonObject().set("messages", messages).text() + "\n");
  }
  return 0;
}

}  // namespace tercet
