#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends.h"
#include "base/error.h"
#include "base/sha256.h"
#include "console.h"
#include "files.h"
#include "interrupt.h"
#include "loaded_model.h"
#include "quant/plan.h"
#include "quant/quantize.h"
#include "text/windows.h"

namespace tercet {
namespace {

/// Windows that were not drawn, on which the audit measures KL and top-1.
constexpr int64_t kAuditWindows = 16;

QuantizeOptions quantize_options(const QuantizeCommandOptions& options) {
  QuantizeOptions quantize = options.quantize;
  quantize.method = quantize_method(options.method);
  quantize.symmetric = !options.asymmetric;
  quantize.corrected_target = !options.no_corrected_target;
  quantize.fallback_threshold = parse_fallback_threshold(options.fallback_threshold);
  quantize.threads = options.common.threads;
  if (!options.recipe.empty()) {
    quantize.recipe = read_file(options.recipe);
    quantize.recipe_file = options.recipe;
    if (quantize.recipe.empty())
      throw Error(ErrorKind::kUsage, "the recipe is empty", {.file = options.recipe});
  }
  check_options(quantize);
  return quantize;
}

/// The drawn windows, and behind them in the same order those of the audit, as far as the text has more.
CalibrationData read_calibration(const QuantizeCommandOptions& options, const Tokenizer& tokenizer) {
  const std::string text = read_file(options.calibration);
  const TokenWindows windows =
      in_file(options.calibration, [&] { return cut_windows(tokenizer, text, options.sequence_length); });
  if (windows.count() < options.samples) {
    throw Error(ErrorKind::kUsage,
                "the calibration text has too few windows: take a longer text or fewer --samples",
                {.file = options.calibration,
                 .expected = fmt::format("{} windows of {} tokens", options.samples, options.sequence_length),
                 .found = std::to_string(windows.count())});
  }
  const int64_t drawn = std::min(windows.count(), options.samples + kAuditWindows);
  CalibrationData data;
  data.sha256 = sha256(text);
  for (const int64_t i : draw_windows(windows.count(), drawn, options.seed)) {
    const auto window = windows.window(i);
    auto& list = std::ssize(data.windows) < options.samples ? data.windows : data.audit_windows;
    list.emplace_back(window.begin(), window.end());
  }
  return data;
}

void warn_about(const Checkpoint& source, const QuantizeOptions& options) {
  try {
    for (const std::string& rule : unused_rules(source, Recipe::parse(options.recipe, options.recipe_file))) {
      log_warning(fmt::format("{}: the rule '{}' meets no matrix of this model", options.recipe_file, rule));
    }
  } catch (const Error& error) {  // an expression that takes too long to match
    throw Error(ErrorKind::kUsage, error.message(),
                {.file = options.recipe_file, .found = error.context().found});
  }
  if (source.quantization()) {
    log_warning(
        source.folder() +
        " is quantized already: what it has lost is not won back, and the audit measures only what is added");
  }
  if (!std::filesystem::exists(source.folder() + "/tokenizer.json")) {
    log_warning(source.folder() + " has no tokenizer.json: the output will need one to be used with text");
  }
}

void report_quantize(const QuantizeReport& result, const QuantizeCommandOptions& options, bool audited) {
  JsonObject report;
  report.set("output", result.output)
      .set("method", result.method)
      .set("bytes", result.bytes)
      .set("bits_per_weight", result.bits_per_weight)
      .set("quantized_bits_per_weight", result.quantized_bits_per_weight)
      .set("matrices", result.matrices)
      .set("fallbacks", result.fallbacks);
  if (audited) report.set("audit", JsonObject().set("kl_mean", result.kl).set("top1", result.top1));
  report.set("seconds", result.seconds).set("peak_memory_bytes", result.peak_memory_bytes);
  print_report(report, options.common.json);
}

}  // namespace

int run_quantize(const QuantizeCommandOptions& options) {
  const QuantizeOptions quantize_as = quantize_options(options);
  if (options.calibration.empty() && quantize_as.method == QuantizeMethod::kGptq) {
    throw Error(ErrorKind::kUsage, "method gptq needs a text to calibrate on: give --calibration FILE");
  }
  const auto source = Checkpoint::open(options.source);
  warn_about(*source, quantize_as);
  CalibrationData calibration;
  if (!options.calibration.empty()) calibration = read_calibration(options, load_tokenizer(*source));

  // The statistics must be those of the written model, not of the fast way's rounded activations.
  CommonOptions exact = options.common;
  exact.exact = true;
  const auto backend = open_backend(exact);
  log_info(fmt::format("{} with {}, {} windows, on {}", options.source, options.method,
                       calibration.windows.size(), backend->description()));
  const Error stopped(ErrorKind::kIo, "stopped by a signal; the same command with --resume goes on",
                      {.file = options.destination});
  say_when_stopped(failure_text(stopped, options.common.json));
  std::unique_ptr<Progress> bar;
  const QuantizeReport result =
      quantize(*backend, *source, options.destination, quantize_as, calibration,
               [&](const QuantizeProgress& progress) {
                 if (!bar)
                   bar = std::make_unique<Progress>("quantizing", progress.total, options.common.quiet);
                 bar->update(progress.done, progress.part);
               });
  bar.reset();
  report_quantize(result, options, !calibration.audit_windows.empty());
  return 0;
}

}  // namespace tercet
