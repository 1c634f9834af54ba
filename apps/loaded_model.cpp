#include "loaded_model.h"

#include <fmt/format.h>

#include "backends.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "console.h"

namespace tercet {

LoadedModel load_model(const CommonOptions& options, std::unique_ptr<Checkpoint> checkpoint,
                       const StepSize& size, bool mtp) {
  const Stopwatch watch;
  LoadedModel loaded;
  loaded.backend = open_backend(options);
  loaded.checkpoint = std::move(checkpoint);
  const ModelConfig& config = loaded.checkpoint->config();
  if (size.context > config.max_position_embeddings) {
    throw Error(ErrorKind::kUsage, "the model's context is shorter than what is asked of it",
                {.file = loaded.checkpoint->folder() + "/config.json",
                 .expected = fmt::format("at most {} tokens (max_position_embeddings)",
                                         config.max_position_embeddings),
                 .found = std::to_string(size.context)});
  }
  loaded.model = std::make_unique<Model>(*loaded.backend, config,
                                         bind_weights(*loaded.backend, *loaded.checkpoint, mtp), size);
  loaded.seconds = watch.seconds();
  log_info(fmt::format("{} on {}, loaded in {:.2f} s", loaded.checkpoint->folder(),
                       loaded.backend->description(), loaded.seconds));
  return loaded;
}

Tokenizer load_tokenizer(const Checkpoint& checkpoint) {
  Tokenizer tokenizer = Tokenizer::load(checkpoint.folder());
  if (tokenizer.vocab_size() > checkpoint.config().vocab_size) {
    throw Error(ErrorKind::kCheckpoint,
                "the tokenizer has more tokens than the model: they do not belong together",
                {.file = checkpoint.folder() + "/tokenizer.json",
                 .expected = fmt::format("at most {} tokens", checkpoint.config().vocab_size),
                 .found = std::to_string(tokenizer.vocab_size())});
  }
  return tokenizer;
}

}  // namespace tercet
