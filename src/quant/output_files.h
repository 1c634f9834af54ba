#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "quant/group_solver.h"
#include "quant/recipe.h"

namespace tercet {

/// Writes config.json (the source's, with quantization_config as GPTQModel has it) and quantize_config.json.
void write_config(const Checkpoint& source, const std::vector<std::vector<MatrixPlan>>& plan,
                  const QuantizeOptions& options, const Recipe& recipe, const std::string& folder);

/// Copies what a model folder has beside weights and configuration: tokenizer, templates, generation
/// defaults, licence.
void copy_companions(const std::string& from, const std::string& to);

/// The text of quant_log.csv: one row a matrix, fields quoted as RFC 4180 says. The head's layer is the
/// number of layers.
std::string quant_log(const std::vector<MatrixResult>& results, int64_t layers);

}  // namespace tercet
