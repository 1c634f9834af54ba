#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/sha256.h"
#include "checkpoint/safetensors_writer.h"
#include "console.h"
#include "files.h"
#include "loaded_model.h"
#include "runtime/sequence.h"

namespace tercet {
namespace {

/// Collects hidden states [layers + 1, n, hidden]: after the embedding, after each layer but the last, after
/// the final norm.
class HiddenStates : public Observer {
 public:
  HiddenStates(Backend& backend, const ModelConfig& config, int64_t positions)
      : backend_(backend), layers_(config.layer_count()), positions_(positions), hidden_(config.hidden_size) {
    values_.resize(static_cast<size_t>((layers_ + 1) * positions * hidden_));
  }

  void observe(Tap tap, int64_t layer, const TensorView& value) override {
    if (tap == Tap::kEmbedding) take(0, value);
    if (tap == Tap::kLayerOutput && layer + 1 < layers_) take(layer + 1, value);
    if (tap == Tap::kFinalNorm) {
      take(layers_, value);
      first_ += value.rows;
    }
  }

  const std::vector<float>& values() const { return values_; }
  /// Final-norm rows of positions [begin, end).
  const float* final_norm(int64_t begin) const {
    return values_.data() + (layers_ * positions_ + begin) * hidden_;
  }

 private:
  void take(int64_t index, const TensorView& value) {
    backend_.download(values_.data() + (index * positions_ + first_) * hidden_, value.data, value.bytes());
  }

  Backend& backend_;
  int64_t layers_, positions_, hidden_;
  int64_t first_ = 0;  // position of the running step's first row
  std::vector<float> values_;
};

/// Runs the rows in steps of at most `chunk`, and appends the logits of each to `logits`.
template <class Forward>
void run_chunks(Backend& backend, StatePool& pool, std::span<const int32_t> tokens, int64_t chunk,
                std::vector<float>& logits, const Forward& forward) {
  SequenceState sequence(pool);
  while (!tokens.empty()) {
    const int64_t position = sequence.length();
    const auto part = tokens.first(std::min(tokens.size(), static_cast<size_t>(chunk)));
    Step step;
    sequence.append_to(step, part, LogitRows::kAll);
    const TensorView made = forward(step, position);
    const size_t old = logits.size();
    logits.resize(old + static_cast<size_t>(made.count()));
    backend.download(logits.data() + old, made.data, made.bytes());
    tokens = tokens.subspan(part.size());
  }
}

/// The draft head's logits [n - 1, vocab]: row i sees token i + 1 and the final-norm hidden state of position
/// i.
std::vector<float> draft_logits(Model& model, StatePool& pool, std::span<const int32_t> ids, int64_t chunk,
                                const HiddenStates& states) {
  const int64_t hidden = model.config().hidden_size;
  const Buffer buffer = model.backend().allocate(chunk * hidden * static_cast<int64_t>(sizeof(float)));
  std::vector<float> logits;
  run_chunks(model.backend(), pool, ids.subspan(1), chunk, logits, [&](const Step& step, int64_t position) {
    const TensorView rows = {buffer.get(), DType::kF32, step.rows(), hidden};
    model.backend().upload(rows.data, states.final_norm(position), rows.bytes());
    return model.forward_mtp(step, rows, pool.state());
  });
  return logits;
}

std::vector<int32_t> input_ids(const LogitsOptions& options, const Checkpoint& checkpoint) {
  if (options.ids.empty() == options.text.empty()) {
    throw Error(ErrorKind::kUsage, "give either --ids LIST or --text FILE");
  }
  std::vector<int32_t> ids = options.text.empty()
                                 ? parse_ids(options.ids, checkpoint.config().vocab_size)
                                 : load_tokenizer(checkpoint).encode(read_file(options.text));
  if (ids.empty()) throw Error(ErrorKind::kUsage, "there is no token to run");
  return ids;
}

/// Nothing that was read may be replaced.
void check_output(const LogitsOptions& options) {
  namespace fs = std::filesystem;
  const fs::path out = fs::weakly_canonical(fs::absolute(options.out));
  if (!fs::is_directory(out.parent_path())) {
    throw Error(ErrorKind::kIo, "there is no such folder to write to; create it", {.file = options.out});
  }
  bool in_model = out.parent_path() == fs::weakly_canonical(options.model);
  for (const auto& entry : fs::directory_iterator(options.model)) {  // which may be links to elsewhere
    in_model = in_model || fs::weakly_canonical(entry.path()) == out;
  }
  if (in_model || (!options.text.empty() && out == fs::weakly_canonical(options.text))) {
    throw Error(ErrorKind::kUsage,
                "--out would replace an input or lie among the model's files; choose another",
                {.file = options.out, .expected = "a file outside " + options.model});
  }
}

}  // namespace

int run_logits(const LogitsOptions& options) {
  auto checkpoint = Checkpoint::open(options.model);
  const ModelConfig config = checkpoint->config();
  if (options.mtp && config.mtp_layers == 0) {
    throw Error(ErrorKind::kUsage, "--mtp: the model has no draft head", {.file = options.model});
  }
  check_output(options);
  const std::vector<int32_t> ids = input_ids(options, *checkpoint);
  const int64_t count = std::ssize(ids);
  const int64_t rows = std::min(options.chunk, count);
  log_info(fmt::format("{} will have {:.1f} MB", options.out,
                       4e-6 * static_cast<double>(count * config.vocab_size)));
  const StepSize size = {.rows = rows, .sequences = 1, .context = count, .logit_rows = rows};
  LoadedModel loaded = load_model(options.common, std::move(checkpoint), size, options.mtp);
  Model& model = *loaded.model;
  StatePool pool(*loaded.backend, state_shape(config, options.mtp), pages_for(count), 1);

  std::optional<HiddenStates> states;
  if (options.hidden || options.mtp) states.emplace(*loaded.backend, config, count);
  std::vector<float> logits;
  run_chunks(*loaded.backend, pool, ids, rows, logits, [&](const Step& step, int64_t) {
    return model.forward(step, pool.state(), states ? &*states : nullptr);
  });
  std::vector<TensorToWrite> tensors;
  const auto add = [&](const std::string& name, DType dtype, std::vector<int64_t> shape, const auto& values) {
    tensors.push_back({name, dtype, std::move(shape), std::as_bytes(std::span(values))});
  };
  add("ids", DType::kI32, {count}, ids);
  add("logits", DType::kF32, {count, config.vocab_size}, logits);
  if (options.hidden)
    add("hidden", DType::kF32, {config.layer_count() + 1, count, config.hidden_size}, states->values());
  std::vector<float> drafts;
  if (options.mtp && count > 1) drafts = draft_logits(model, pool, ids, rows, *states);
  if (options.mtp) add("mtp_logits", DType::kF32, {count - 1, config.vocab_size}, drafts);
  write_safetensors(options.out, tensors);

  JsonObject report;
  report.set("output", options.out).set("tokens", count).set("vocab", config.vocab_size);
  report.set("logits_hash", sha256(std::as_bytes(std::span(logits))));
  print_report(report, options.common.json);
  return 0;
}

}  // namespace tercet
