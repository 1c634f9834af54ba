#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"
#include "console.h"
#include "files.h"
#include "generation_config.h"
#include "loaded_model.h"
#include "reply_text.h"
#include "runtime/generator.h"
#include "text/chat_template.h"

namespace tercet {
namespace {

std::vector<int32_t> prompt_ids(const GenerateOptions& options, const Checkpoint& checkpoint,
                                const Tokenizer& tokenizer) {
  const int given =
      int{options.prompt.has_value()} + int{!options.ids.empty()} + int{!options.messages.empty()};
  if (given != 1) throw Error(ErrorKind::kUsage, "give one of --prompt TEXT, --ids LIST and --messages FILE");
  std::vector<int32_t> ids;
  if (options.prompt) {
    ids = tokenizer.encode(*options.prompt);
  } else if (!options.ids.empty()) {
    ids = parse_ids(options.ids, checkpoint.config().vocab_size);
  } else {
    ids = tokenizer.encode(
        ChatTemplate::load(options.model).render(read_file(options.messages), true, options.messages));
  }
  if (ids.empty()) throw Error(ErrorKind::kUsage, "the prompt is empty: there is nothing to continue");
  return ids;
}

/// What fits behind the prompt.
int64_t token_limit(const GenerateOptions& options, const ModelConfig& config, int64_t prompt) {
  const int64_t room = config.max_position_embeddings - prompt;
  if (room < 1) {
    throw Error(ErrorKind::kUsage, "the prompt is longer than the model's context",
                {.expected = fmt::format("fewer than {} tokens", config.max_position_embeddings),
                 .found = std::to_string(prompt)});
  }
  return std::min(options.max_tokens, room);
}

/// Seconds of loading, until the first token, and after it.
struct Timing {
  double load = 0;
  double prompt = 0;
  double decode = 0;
};

double rate(int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
}

JsonObject report(const Reply& reply, int64_t prompt, const std::string& text, const Timing& timing) {
  return JsonObject()
      .set("prompt_tokens", prompt)
      .set("tokens", reply.tokens)
      .set("text", text)
      .set("finish_reason", to_string(reply.reason))
      .set("timing", JsonObject()
                         .set("load_seconds", timing.load)
                         .set("prompt_seconds", timing.prompt)
                         .set("decode_seconds", timing.decode)
                         .set("prompt_tokens_per_second", rate(prompt, timing.prompt))
                         .set("decode_tokens_per_second", rate(std::ssize(reply.tokens) - 1, timing.decode)));
}

}  // namespace

int run_generate(const GenerateOptions& options) {
  if (std::any_of(options.stop.begin(), options.stop.end(),
                  [](const std::string& stop) { return stop.empty(); })) {
    throw Error(ErrorKind::kUsage, "--stop must not be empty");
  }
  const Stopwatch load_watch;
  auto checkpoint = Checkpoint::open(options.model);
  const ModelConfig config = checkpoint->config();
  const Tokenizer tokenizer = load_tokenizer(*checkpoint);
  GenerationConfig defaults = read_generation_config(options.model);
  if (options.ignore_eos) defaults.stop_ids.clear();

  Request request;
  request.prompt = prompt_ids(options, *checkpoint, tokenizer);
  const int64_t prompt = std::ssize(request.prompt);
  request.max_tokens = token_limit(options, config, prompt);
  request.sampling = merge(defaults.sampling, options.sampling);
  request.stop_ids = defaults.stop_ids;

  const int64_t context = prompt + request.max_tokens;
  const StepSize size = {
      .rows = std::min<int64_t>(prompt, 512), .sequences = 1, .context = context, .logit_rows = 1};
  LoadedModel loaded = load_model(options.common, std::move(checkpoint), size);
  StatePool pool(*loaded.backend, state_shape(config, false), pages_for(context), 1);
  Generator generator(*loaded.model, pool, size, tokenizer.vocab_size());
  Timing timing = {.load = load_watch.seconds()};

  ReplyText text(tokenizer, defaults.stop_ids, options.stop, options.common.json ? ReplyText::Sink() : print);
  const Stopwatch watch;
  request.on_token = [&](int32_t token) {
    if (timing.prompt == 0) timing.prompt = watch.seconds();
    return text.push(token);
  };
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  const Reply reply = std::move(generator.run(std::move(requests)).front());
  timing.decode = watch.seconds() - timing.prompt;
  text.finish();
  if (options.common.json) {
    print(report(reply, prompt, text.text(), timing).text() + "\n");
  } else {
    print("\n");
    log_info(fmt::format("{} tokens, {}; prompt {:.1f} tokens/s, decode {:.1f} tokens/s", reply.tokens.size(),
                         to_string(reply.reason), rate(prompt, timing.prompt),
                         rate(std::ssize(reply.tokens) - 1, timing.decode)));
  }
  return 0;
}

}  // namespace tercet
