#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "ops/backend.h"
#include "quant/options.h"

namespace tercet {

/// The tokens that a run looks at.
struct CalibrationData {
  std::vector<std::vector<int32_t>> windows;  // [samples][length], equal lengths; may be empty for rtn
  std::vector<std::vector<int32_t>>
      audit_windows;   // not among `windows`; KL and top-1 are measured on them; may be empty
  std::string sha256;  // of the calibration file, for the audit; empty without one
};

/// Told after each finished part. What is told of has been saved: a run that ends here resumes behind it. May
/// throw.
struct QuantizeProgress {
  std::string part;  // "layer 3", "lm_head", "audit", ...
  int64_t done = 0;  // parts
  int64_t total = 0;
};
using QuantizeCallback = std::function<void(const QuantizeProgress&)>;

/// What a run has made. Bits as `inspect` counts them.
struct QuantizeReport {
  std::string output;
  std::string method;
  int64_t bytes = 0;  // of all tensors written
  double bits_per_weight = 0;
  double quantized_bits_per_weight = 0;
  int64_t matrices = 0;
  int64_t fallbacks = 0;  // matrices meant for gptq that were rounded
  double kl = 0;          // nats, mean over the audit windows; 0 without any
  double top1 = 0;        // share; 0 without audit windows
  double seconds = 0;
  int64_t peak_memory_bytes = 0;  // resident, of the process
};

/// Quantizes `source` into the folder `destination`: layer by layer, staged in `destination`.staging and
/// renamed at the end. `backend` runs the calibration; it must keep fp32 activations (BackendOptions::exact)
/// for the statistics to be those of the written model, and is planned here. The bytes written do not depend
/// on the number of threads nor on interruptions (the column `time` of quant_log.csv apart). Throws
/// Error(kUsage) on options that cannot be met, Error(kCheckpoint) on weights that are not finite,
/// Error(kIo).
QuantizeReport quantize(Backend& backend, const Checkpoint& source, const std::string& destination,
                        const QuantizeOptions& options, const CalibrationData& calibration,
                        const QuantizeCallback& progress);

}  // namespace tercet
