#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "backends.h"
#include "bandwidth.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "checkpoint/inventory.h"
#include "console.h"
#include "files.h"
#include "loaded_model.h"
#include "model/synthetic.h"
#include "runtime/sequence.h"
#include "traffic.h"
#include "version.h"

namespace tercet {
namespace {

constexpr int64_t kDecodeSteps = 32;      // of a measurement
constexpr double kShortestSeconds = 0.5;  // a measurement repeats its work until it has lasted this long
constexpr int64_t kLargestStep = 512;

/// A model under test with sequences that all step together, drawing the largest logit.
class Bench {
 public:
  Bench(Model& model, const StepSize& size)
      : model_(model),
        size_(size),
        traffic_(model),
        pool_(model.backend(), state_shape(model.config(), false),
              2 * size.sequences * pages_for(size.context), 2 * size.sequences),
        tokens_(model.backend().allocate(size.sequences * static_cast<int64_t>(sizeof(int32_t)))) {}

  Traffic& traffic() { return traffic_; }
  const std::string& hashes() const { return hashes_; }

  std::vector<SequenceState> empty(int64_t batch) {
    std::vector<SequenceState> sequences;
    for (int64_t i = 0; i < batch; ++i) sequences.emplace_back(pool_);
    return sequences;
  }

  static std::vector<SequenceState> fork(const std::vector<SequenceState>& sequences) {
    std::vector<SequenceState> copies;
    for (const SequenceState& sequence : sequences) copies.push_back(sequence.fork());
    return copies;
  }

  /// Random tokens, the same for the same sequence number.
  std::vector<int32_t> prompt(int64_t length, int64_t sequence) const {
    SplitMix64 random(static_cast<uint64_t>(sequence));
    std::vector<int32_t> ids(static_cast<size_t>(length));
    for (int32_t& id : ids)
      id = static_cast<int32_t>(random.below(static_cast<uint64_t>(model_.config().vocab_size)));
    return ids;
  }

  /// Runs a prompt through one sequence and draws a token; returns the bytes of weights read if `observed`.
  double run_prompt(SequenceState& sequence, std::span<const int32_t> ids, bool observed) {
    double bytes = 0;
    while (!ids.empty()) {
      const auto part = ids.first(std::min(ids.size(), static_cast<size_t>(size_.rows)));
      ids = ids.subspan(part.size());
      Step step;
      sequence.append_to(step, part, ids.empty() ? LogitRows::kLast : LogitRows::kNone);
      bytes += run(step, observed);
    }
    return bytes;
  }

  /// One token for each sequence.
  double run_decode(std::vector<SequenceState>& sequences, bool observed) {
    Step step;
    for (size_t i = 0; i < sequences.size(); ++i)
      sequences[i].append_to(step, std::span(&drawn_[i], 1), LogitRows::kLast);
    return run(step, observed);
  }

  /// The token that each sequence goes on with.
  void set_drawn(std::vector<int32_t> tokens) { drawn_ = std::move(tokens); }

 private:
  double run(const Step& step, bool observed) {
    const TensorView logits = model_.forward(step, pool_.state(), observed ? &traffic_ : nullptr);
    if (logits.rows > 0) {
      draw(logits);
      if (observed) hash(logits);
    }
    return observed ? traffic_.take_weight_bytes() : 0.0;
  }

  void draw(const TensorView& logits) {
    SamplingBatch batch;
    batch.rows.resize(static_cast<size_t>(logits.rows));
    for (SamplingRow& row : batch.rows) row.params.temperature = 0;
    const TensorView token = {tokens_.get(), DType::kI32, logits.rows, 1};
    model_.backend().sample(logits, batch, token);
    drawn_.resize(batch.rows.size());
    model_.backend().download(drawn_.data(), token.data, token.bytes());
    check_drawn(drawn_);
  }

  void hash(const TensorView& logits) {
    std::vector<std::byte> bytes(static_cast<size_t>(logits.bytes()));
    model_.backend().download(bytes.data(), logits.data, logits.bytes());
    hashes_ += sha256(bytes);
  }

  Model& model_;
  StepSize size_;
  Traffic traffic_;
  StatePool pool_;
  Buffer tokens_;  // I32 [sequences]
  std::vector<int32_t> drawn_;
  std::string hashes_;
};

struct Measurement {
  std::string phase;
  int64_t context = 0;
  int64_t batch = 0;
  std::vector<double> tokens_per_second{};
  double bytes_per_token = 0;
};

/// Calls `work`, which says how many tokens it made and how long that took, until enough time has passed.
template <class Work>
double measure(const Work& work) {
  int64_t tokens = 0;
  double seconds = 0;
  while (seconds < kShortestSeconds) {
    const auto [made, spent] = work();
    tokens += made;
    seconds += spent;
  }
  return static_cast<double>(tokens) / seconds;
}

Measurement measure_prompt(Bench& bench, int64_t length, int64_t repetitions) {
  Measurement result = {.phase = "prompt", .context = length, .batch = 1};
  const std::vector<int32_t> ids = bench.prompt(length, 0);
  const double weights = bench.run_prompt(bench.empty(1).front(), ids, true);
  result.bytes_per_token = weights / static_cast<double>(length);
  for (int64_t i = 0; i < repetitions; ++i) {
    result.tokens_per_second.push_back(measure([&] {
      auto sequences = bench.empty(1);
      const Stopwatch watch;
      bench.run_prompt(sequences[0], ids, false);
      return std::pair(length, watch.seconds());
    }));
  }
  return result;
}

Measurement measure_decode(Bench& bench, int64_t context, int64_t batch, int64_t repetitions) {
  Measurement result = {.phase = "decode", .context = context, .batch = batch};
  auto start = bench.empty(batch);
  for (int64_t i = 0; i < batch; ++i) {
    bench.run_prompt(start[static_cast<size_t>(i)], bench.prompt(context, i), false);
  }
  std::vector<int32_t> next;
  for (int64_t i = 0; i < batch; ++i) next.push_back(bench.prompt(1, batch + i)[0]);

  double weights = 0;
  bench.set_drawn(next);
  auto observed = Bench::fork(start);
  for (int64_t step = 0; step < kDecodeSteps; ++step) weights += bench.run_decode(observed, true);
  observed.clear();
  const double tokens = static_cast<double>(kDecodeSteps * batch);
  result.bytes_per_token = weights / tokens + bench.traffic().state_bytes(context + kDecodeSteps / 2);

  for (int64_t i = 0; i < repetitions; ++i) {
    result.tokens_per_second.push_back(measure([&] {
      auto sequences = Bench::fork(start);
      bench.set_drawn(next);
      const Stopwatch watch;
      for (int64_t step = 0; step < kDecodeSteps; ++step) bench.run_decode(sequences, false);
      return std::pair(kDecodeSteps * batch, watch.seconds());
    }));
  }
  return result;
}

JsonObject to_json(Measurement run, double bandwidth) {
  std::sort(run.tokens_per_second.begin(), run.tokens_per_second.end());
  const auto& speeds = run.tokens_per_second;
  const double median = (speeds[(speeds.size() - 1) / 2] + speeds[speeds.size() / 2]) / 2;
  return JsonObject()
      .set("phase", run.phase)
      .set("context", run.context)
      .set("batch", run.batch)
      .set("tokens_per_second", JsonObject()
                                    .set("median", median)
                                    .set("min", run.tokens_per_second.front())
                                    .set("max", run.tokens_per_second.back()))
      .set("bytes_per_token", run.bytes_per_token)
      .set("bytes_per_second", run.bytes_per_token * median)
      .set("fraction_of_bandwidth", run.bytes_per_token * median / bandwidth);
}

StepSize step_size(const BenchOptions& options) {
  const int64_t context = *std::max_element(options.context.begin(), options.context.end());
  const int64_t prompt = *std::max_element(options.prompt.begin(), options.prompt.end());
  const int64_t batch = *std::max_element(options.batch.begin(), options.batch.end());
  return {.rows = std::max(batch, std::min(kLargestStep, std::max(context, prompt))),
          .sequences = batch,
          .context = std::max(context + kDecodeSteps, prompt),
          .logit_rows = batch};
}

/// Of the weights of a synthetic model, without scales.
int64_t least_bytes(const ModelConfig& config, int bits) {
  int64_t total = 0;
  for (const TensorSpec& spec : expected_tensors(config)) {
    if (spec.component == "mtp" || spec.component == "vision") continue;
    const bool quantized = spec.quantizable() || spec.kind == TensorKind::kHead;
    total += spec.parameters() * (quantized ? bits : 16) / 8;
  }
  return total;
}

LoadedModel load(const BenchOptions& options, const StepSize& size) {
  if (options.model.empty() == options.synthetic.empty()) {
    throw Error(ErrorKind::kUsage, "give either a MODEL folder or --synthetic NAME");
  }
  if (!options.model.empty()) return load_model(options.common, Checkpoint::open(options.model), size);
  const Stopwatch watch;
  const ModelConfig config = named_model_config(options.synthetic);
  const int bits = options.format == "bf16" ? 16 : 4;
  if (runs_on_cpu(options.common)) require_memory(least_bytes(config, bits));
  LoadedModel loaded;
  loaded.backend = open_backend(options.common);
  loaded.model = std::make_unique<Model>(*loaded.backend, config,
                                         synthetic_weights(*loaded.backend, config, bits, 0), size);
  loaded.seconds = watch.seconds();
  log_info(fmt::format("made {} in {:.1f} s", options.synthetic, loaded.seconds));
  return loaded;
}

}  // namespace

int run_bench(const BenchOptions& options) {
  const StepSize size = step_size(options);
  LoadedModel loaded = load(options, size);
  const auto bandwidth = [&] {
    return runs_on_cpu(options.common) ? cpu_read_bandwidth(options.common.threads)
                                       : device_bandwidth(*loaded.backend);
  };
  Bench bench(*loaded.model, size);
  // Other programs may disturb either measurement: the larger one is the limit.
  double limit = bandwidth();
  std::vector<Measurement> runs;
  const int64_t count = std::ssize(options.prompt) + std::ssize(options.context) * std::ssize(options.batch);
  {
    Progress progress("measuring", count, options.common.quiet);
    const auto add = [&](Measurement run) {
      runs.push_back(std::move(run));
      progress.update(std::ssize(runs));
    };
    progress.update(0);
    for (const int64_t length : options.prompt) add(measure_prompt(bench, length, options.repetitions));
    for (const int64_t batch : options.batch) {
      for (const int64_t context : options.context)
        add(measure_decode(bench, context, batch, options.repetitions));
    }
  }
  limit = std::max(limit, bandwidth());

  JsonObject report;
  report.set("device", loaded.backend->description())
      .set("commit", commit())
      .set("model", options.model.empty() ? options.synthetic : options.model)
      .set("format", options.synthetic.empty() ? "as stored" : options.format)
      .set("weight_bytes", bench.traffic().model_bytes())
      .set("limits", JsonObject().set("read_bytes_per_second", limit));
  if (runs_on_cpu(options.common) && bench.traffic().model_bytes() < sysconf(_SC_LEVEL3_CACHE_SIZE)) {
    report.set("note", "the weights fit into the processor's cache, which is faster than its memory");
  }
  std::vector<JsonObject> results;
  for (const Measurement& run : runs) results.push_back(to_json(run, limit));
  report.set("runs", results).set("logits_hash", sha256(bench.hashes()));
  print_report(report, options.common.json);
  return 0;
}

}  // namespace tercet
