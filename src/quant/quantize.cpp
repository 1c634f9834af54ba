#include "quant/quantize.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "quant/audit.h"
#include "quant/output_files.h"
#include "quant/records.h"
#include "quant/shards.h"
#include "quant/staging.h"

namespace tercet {
namespace {

using json = nlohmann::ordered_json;

/// The most memory that the process has had resident: VmHWM of /proc/self/status, which counts in KiB.
int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

/// Large blocks go back to the system as soon as they are freed: by default the allocator raises the size
/// from which it does that with every block freed, and keeps what is below.
void return_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
}

bool wants_calibration(const std::vector<std::vector<MatrixPlan>>& plan) {
  for (const auto& part : plan) {
    for (const MatrixPlan& matrix : part) {
      if (matrix.settings.method == QuantizeMethod::kGptq) return true;
    }
  }
  return false;
}

/// Integers that are kept are packed anew, and the container has fp16 scales.
void check_kept(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan) {
  for (const FoundTensor& found : kept_integers(source, plan)) {
    const auto scales =
        std::find_if(found.stored.begin(), found.stored.end(),
                     [](const StoredTensor* stored) { return stored->name.ends_with(".scales"); });
    if ((*scales)->dtype == DType::kF16) continue;
    throw Error(
        ErrorKind::kUsage,
        "a matrix that the source has quantized would be kept, but its scales cannot; quantize it too, or "
        "start from the original model",
        {.file = std::string((*scales)->file),
         .tensor = (*scales)->name,
         .expected = "F16",
         .found = std::string(name_of((*scales)->dtype))});
  }
}

void check_windows(const CalibrationData& calibration, const ModelConfig& config) {
  for (const auto* windows : {&calibration.windows, &calibration.audit_windows}) {
    for (const std::vector<int32_t>& window : *windows) {
      const bool valid = !window.empty() && std::ssize(window) <= config.max_position_embeddings &&
                         window.size() == windows->front().size() &&
                         std::all_of(window.begin(), window.end(),
                                     [&](int32_t token) { return token >= 0 && token < config.vocab_size; });
      if (!valid) {
        throw Error(ErrorKind::kUsage,
                    "the calibration windows do not fit the model; use its own tokenizer, and windows within "
                    "its context",
                    {.expected = fmt::format("windows of one length up to {} with ids below {}",
                                             config.max_position_embeddings, config.vocab_size),
                     .found = "another window"});
      }
    }
  }
}

/// A destination as it is given, but without slashes at the end, and made absolute where `.` or `..` or links
/// before them could mean another place than the name says.
std::string folder_name(const std::string& destination) {
  namespace fs = std::filesystem;
  fs::path path = destination;
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  const bool plain = std::none_of(path.begin(), path.end(),
                                  [](const fs::path& part) { return part == "." || part == ".."; });
  return plain ? path.string() : fs::weakly_canonical(fs::absolute(path)).string();
}

class Run {
 public:
  Run(Backend& backend, const Checkpoint& source, const std::string& destination,
      const QuantizeOptions& options, const CalibrationData& calibration, const QuantizeCallback& progress)
      : backend_(backend),
        source_(source),
        destination_(destination),
        options_(options),
        calibration_(calibration),
        progress_(progress),
        recipe_(Recipe::parse(options.recipe, options.recipe_file)),
        plan_(plan_matrices(source, options, recipe_)) {
    check_options(options);
    check_destination(source.folder(), destination, options.overwrite);
    check_kept(source, plan_);
    if (std::all_of(plan_.begin(), plan_.end(), [](const auto& part) { return part.empty(); })) {
      throw Error(ErrorKind::kUsage, "the recipe keeps every matrix: there is nothing to quantize",
                  {.file = options.recipe_file});
    }
    check_windows(calibration, source.config());
    if (calibration.windows.empty() && wants_calibration(plan_)) {
      throw Error(ErrorKind::kUsage, "gptq needs calibration text; give --calibration FILE",
                  {.expected = "at least one calibration window", .found = "none"});
    }
  }

  QuantizeReport execute() {
    const json run = describe_run(source_, options_, calibration_);
    if (!(options_.resume && is_output_of(destination_, run))) {
      json started = run;
      started["backend"] = backend_.description();
      const Staging staging(destination_, started, options_);
      quantize_parts(staging);
      complete(staging, run);
      staging.publish();
    } else {
      remove_leftovers(destination_);
    }
    QuantizeReport report = report_on(destination_);
    report.seconds = watch_.seconds();
    report.peak_memory_bytes = peak_memory_bytes();
    return report;
  }

 private:
  int64_t layers() const { return source_.config().layer_count(); }

  void tell(const std::string& part, int64_t done) {
    if (progress_) progress_({part, done, layers() + 2});
  }

  void quantize_parts(const Staging& staging) {
    std::optional<LayerQuantizer> quantizer(std::in_place, backend_, source_, options_, calibration_.windows);
    for (int64_t part = 0; part <= layers(); ++part) {
      if (!take_up(staging, part, *quantizer)) quantize_part(staging, part, *quantizer);
      quantizer->forget();
      malloc_trim(0);
      tell(part < layers() ? "layer " + std::to_string(part) : "head and rest", part + 1);
    }
  }

  std::string shard_path(const Staging& staging, int64_t part) const {
    return staging.output() + "/" + shard_name(source_.config(), part);
  }

  /// Goes through a part that is finished already; false if it is not, or if its file is not whole.
  bool take_up(const Staging& staging, int64_t part, LayerQuantizer& quantizer) {
    const std::optional<json> finished = staging.finished(part);
    const std::string path = shard_path(staging, part);
    if (!finished || !std::filesystem::exists(path)) return false;
    try {
      if (finished->at("sha256").get<std::string>() != sha256_of_file(path)) return false;
      parts_.push_back(part_from_json(*finished));
    } catch (const json::exception&) {
      return false;  // a damaged record: the part is done again
    }
    if (parts_.back().results.size() != plan_[static_cast<size_t>(part)].size()) {
      parts_.pop_back();
      return false;
    }
    if (part == layers()) return true;
    read_shard(source_, plan_[static_cast<size_t>(part)], options_, part, staging.output(),
               quantizer.mixed());
    quantizer.skip(part);
    return true;
  }

  void quantize_part(const Staging& staging, int64_t part, LayerQuantizer& quantizer) {
    const std::vector<MatrixPlan>& plan = plan_[static_cast<size_t>(part)];
    parts_.push_back(part == layers() ? quantizer.head(plan) : quantizer.layer(part, plan));
    write_shard(source_, quantizer.mixed(), part, options_.gptq_v1, staging.output());
    json description = to_json(parts_.back());
    description["sha256"] = sha256_of_file(shard_path(staging, part));
    staging.finish(part, description);
  }

  void complete(const Staging& staging, const json& run) {
    write_index(source_.config(), staging.output());
    write_config(source_, plan_, options_, recipe_, staging.output());
    copy_companions(source_.folder(), staging.output());
    const auto written =
        Checkpoint::open(staging.output());  // nothing takes the destination's place that cannot be read
    Divergence divergence;
    if (!calibration_.audit_windows.empty()) {
      ThreadPool pool(options_.threads);
      divergence = measure_divergence(backend_, source_, *written, calibration_.audit_windows, pool);
    }
    std::vector<MatrixResult> results;
    for (const LayerQuantizer::Part& part : parts_) {
      results.insert(results.end(), part.results.begin(), part.results.end());
    }
    write_text_file(staging.output() + "/quant_log.csv", quant_log(results, layers()));
    write_text_file(staging.output() + "/quant_audit.json",
                    audit_text(run, parts_, divergence, staging.output()));
    tell(calibration_.audit_windows.empty() ? "records" : "audit", layers() + 2);
  }

  Backend& backend_;
  const Checkpoint& source_;
  const std::string& destination_;
  const QuantizeOptions& options_;
  const CalibrationData& calibration_;
  const QuantizeCallback& progress_;
  Recipe recipe_;
  std::vector<std::vector<MatrixPlan>> plan_;
  Stopwatch watch_;
  std::vector<LayerQuantizer::Part> parts_;
};

}  // namespace

QuantizeReport quantize(Backend& backend, const Checkpoint& source, const std::string& destination,
                        const QuantizeOptions& options, const CalibrationData& calibration,
                        const QuantizeCallback& progress) {
  return_freed_memory();
  const std::string folder = folder_name(destination);
  try {
    return Run(backend, source, folder, options, calibration, progress).execute();
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorKind::kIo, error.code().message(), {.file = error.path1().string()});
  } catch (const json::exception& error) {
    throw Error(ErrorKind::kCheckpoint,
                std::string("a record of an earlier run cannot be read; start again with --overwrite: ") +
                    error.what(),
                {.file = folder + ".staging"});
  }
}

}  // namespace tercet
