#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/divergence.h"
#include "quant/layer_quantizer.h"
#include "quant/quantize.h"

namespace tercet {

/// Everything that the output's bytes depend on, as JSON: options, recipe, calibration windows, hashes of the
/// source's files.
nlohmann::ordered_json describe_run(const Checkpoint& source, const QuantizeOptions& options,
                                    const CalibrationData& calibration);

/// A finished part, to and from JSON.
nlohmann::ordered_json to_json(const LayerQuantizer::Part& part);
LayerQuantizer::Part part_from_json(const nlohmann::ordered_json& json);

/// The text of quant_audit.json. `divergence` has no positions where there were no audit windows.
std::string audit_text(const nlohmann::ordered_json& run, const std::vector<LayerQuantizer::Part>& parts,
                       const Divergence& divergence, const std::string& output_folder);

/// What the audit of a finished output folder says of a run like `run`; empty if there is none, or of another
/// run.
bool is_output_of(const std::string& folder, const nlohmann::ordered_json& run);

/// The report on a finished output folder, from its files.
QuantizeReport report_on(const std::string& folder);

}  // namespace tercet
