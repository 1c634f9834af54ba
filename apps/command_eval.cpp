#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "backends.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "console.h"
#include "evaluate_tasks.h"
#include "evaluate_text.h"
#include "files.h"
#include "generation_config.h"
#include "json_output.h"
#include "text/windows.h"

namespace tercet {
namespace {

/// Everything that is known before a model is loaded, so that wrong usage costs no waiting.
struct Job {
  std::optional<TokenWindows> text;
  std::vector<std::span<const int32_t>> windows;  // of `text`, those that are scored
  std::vector<Task> tasks;
  StepSize window_size;
  StepSize task_size;

  /// What serves both.
  StepSize largest() const {
    if (tasks.empty()) return window_size;
    if (!text) return task_size;
    return {.rows = std::max(window_size.rows, task_size.rows),
            .sequences = std::max(window_size.sequences, task_size.sequences),
            .context = std::max(window_size.context, task_size.context),
            .logit_rows = std::max(window_size.logit_rows, task_size.logit_rows)};
  }
};

Job prepare(const EvalOptions& options, const Checkpoint& checkpoint, const Tokenizer& tokenizer) {
  Job job;
  if (!options.text.empty()) {
    job.text = in_file(options.text,
                       [&] { return cut_windows(tokenizer, read_file(options.text), options.context); });
    const int64_t wanted = options.tokens == 0 ? job.text->count() : options.tokens / options.context;
    if (wanted == 0) {
      throw Error(
          ErrorKind::kUsage, "--tokens is less than one window",
          {.expected = fmt::format("at least {}", options.context), .found = std::to_string(options.tokens)});
    }
    for (const int64_t i : spread_windows(job.text->count(), wanted))
      job.windows.push_back(job.text->window(i));
    job.window_size = window_step_size(checkpoint.config(), options.context);
  }
  if (!options.tasks.empty()) {
    job.tasks = read_tasks(options.tasks, checkpoint, tokenizer, options.thinking, options.limit);
    job.task_size = task_step_size(job.tasks);
  }
  return job;
}

LoadedModel load_reference(const EvalOptions& options, const Job& job, const ModelConfig& model) {
  auto checkpoint = Checkpoint::open(options.reference);
  if (model.vocab_size != checkpoint->config().vocab_size) {
    throw Error(ErrorKind::kUsage, "the reference has another vocabulary: it is not the same model",
                {.file = options.reference,
                 .expected = fmt::format("{} rows", model.vocab_size),
                 .found = std::to_string(checkpoint->config().vocab_size)});
  }
  return load_model(options.common, std::move(checkpoint), job.window_size);
}

TextScore score_text(const EvalOptions& options, const Job& job, Model& model, ThreadPool& pool) {
  LoadedModel reference;
  std::vector<Model*> models = {&model};
  if (!options.reference.empty()) {
    reference = load_reference(options, job, model.config());
    models.push_back(reference.model.get());
  }
  Progress progress("windows", std::ssize(job.windows), options.common.quiet);
  return score_windows(models, job.window_size, job.windows, pool,
                       [&](int64_t done) { progress.update(done); });
}

std::map<std::string, TaskCount> score_tasks(const EvalOptions& options, const Job& job, LoadedModel& loaded,
                                             const Tokenizer& tokenizer) {
  Progress progress("tasks", std::ssize(job.tasks), options.common.quiet);
  const std::vector<int32_t> stop_ids = read_generation_config(options.model).stop_ids;
  return score_tasks(*loaded.model, tokenizer, job.task_size, stop_ids, job.tasks,
                     [&](int64_t done) { progress.update(done); });
}

/// How far the fast way of a quantized model on a CPU (int8 activations) is from the exact one, on the first
/// windows. One model is loaded at a time: `fast` is given up, and its logits are kept, about 128 MiB of
/// them.
std::optional<Divergence> activation_divergence(const EvalOptions& options, const Job& job, LoadedModel& fast,
                                                ThreadPool& pool) {
  if (!fast.checkpoint->quantization() || options.common.exact || !runs_on_cpu(options.common))
    return std::nullopt;
  const int64_t vocab = fast.model->config().vocab_size;
  const int64_t positions = (int64_t{1} << 25) / vocab;
  const int64_t length = std::min(options.context, positions);
  std::vector<std::span<const int32_t>> windows;
  for (const auto& window : job.windows) {
    if (std::ssize(windows) < std::clamp<int64_t>(positions / length, 1, 4)) {
      windows.push_back(window.first(static_cast<size_t>(length)));
    }
  }
  const std::vector<float> quick = window_logits(*fast.model, job.window_size, windows);
  fast.model.reset();
  CommonOptions exact = options.common;
  exact.exact = true;
  const LoadedModel slow = load_model(exact, std::move(fast.checkpoint), job.window_size);
  return compare_rows(window_logits(*slow.model, job.window_size, windows), quick, vocab, pool);
}

void report_text(JsonObject& report, const TextScore& score, double seconds) {
  report.set("tokens", score.tokens)
      .set("cross_entropy", score.cross_entropy)
      .set("perplexity", std::exp(score.cross_entropy));
  if (score.divergence.positions() > 0) {
    report.set("reference", JsonObject()
                                .set("cross_entropy", score.reference_cross_entropy)
                                .set("perplexity", std::exp(score.reference_cross_entropy)));
    const KlSummary kl = score.divergence.kl();
    report.set("kl", JsonObject()
                         .set("mean", kl.mean)
                         .set("median", kl.median)
                         .set("p99", kl.p99)
                         .set("p999", kl.p999)
                         .set("max", kl.max));
    report.set("top1", score.divergence.top1()).set("top5", score.divergence.top5());
  }
  report.set("text_seconds", seconds);
}

void report_tasks(JsonObject& report, const std::map<std::string, TaskCount>& counts, double seconds) {
  TaskCount all;
  JsonObject categories;
  for (const auto& [name, count] : counts) {
    all.count += count.count;
    all.correct += count.correct;
    categories.set(name, JsonObject().set("count", count.count).set("correct", count.correct));
  }
  const double score =
      all.count == 0 ? 0.0 : static_cast<double>(all.correct) / static_cast<double>(all.count);
  report.set("tasks", JsonObject()
                          .set("count", all.count)
                          .set("correct", all.correct)
                          .set("score", score)
                          .set("by_category", categories));
  report.set("tasks_seconds", seconds);
}

}  // namespace

int run_eval(const EvalOptions& options) {
  if (options.text.empty() && options.tasks.empty()) {
    throw Error(ErrorKind::kUsage, "nothing to evaluate on: give --text FILE, --tasks FILE, or both");
  }
  if (!options.reference.empty() && options.text.empty()) {
    throw Error(ErrorKind::kUsage, "--reference compares on a text: give --text FILE");
  }
  const Stopwatch watch;
  auto checkpoint = Checkpoint::open(options.model);
  const Tokenizer tokenizer = load_tokenizer(*checkpoint);
  const Job job = prepare(options, *checkpoint, tokenizer);
  LoadedModel loaded = load_model(options.common, std::move(checkpoint), job.largest());
  ThreadPool pool(options.common.threads);
  JsonObject report;
  report.set("model", options.model).set("backend", loaded.backend->description());
  if (job.text) {
    const Stopwatch text_watch;
    const TextScore score = score_text(options, job, *loaded.model, pool);
    report_text(report, score, text_watch.seconds());
  }
  if (!job.tasks.empty()) {
    const Stopwatch tasks_watch;
    const auto counts = score_tasks(options, job, loaded, tokenizer);
    report_tasks(report, counts, tasks_watch.seconds());
  }
  if (job.text) {
    if (const auto divergence = activation_divergence(options, job, loaded, pool)) {
      report.set("activation_divergence",
                 JsonObject().set("kl_mean", divergence->kl().mean).set("top1", divergence->top1()));
    }
  }
  report.set("seconds", watch.seconds());
  print_report(report, options.common.json);
  return 0;
}

}  // namespace tercet
