#pragma once

#include <cstdint>
#include <string>

namespace tercet {

enum class QuantizeMethod { kRtn, kGptq };

/// "rtn", "gptq".
const char* to_string(QuantizeMethod method);
/// Throws Error(kUsage) on any other name.
QuantizeMethod quantize_method(const std::string& name);

/// How few tokens make a matrix's statistics too thin: a share of the calibration tokens, or a count.
struct FallbackThreshold {
  double value = 0.005;
  bool share = true;

  int64_t tokens(int64_t calibration_tokens) const;
};

/// "0.5%" or "1000". Throws Error(kUsage) on anything else.
FallbackThreshold parse_fallback_threshold(const std::string& text);

/// What `tercet quantize` may be asked for. The first group decides every byte of the output and must be
/// equal when a run is resumed.
struct QuantizeOptions {
  QuantizeMethod method = QuantizeMethod::kGptq;
  int bits = 4;              // 2, 3, 4, 8
  int64_t group_size = 128;  // 32, 64, 128, or -1: one group a row
  bool symmetric = true;
  bool scale_search = false;  // rtn only; gptq always searches
  bool desc_act = false;      // groups follow the order of columns; else g_idx is k / group_size
  bool corrected_target = true;
  int refit_rounds = 2;
  double damp = 0.01;
  FallbackThreshold fallback_threshold;
  bool all_linears = false;  // the head too
  bool gptq_v1 = false;      // zeros stored minus one
  std::string recipe;        // text of a recipe file (JSON), or empty

  std::string recipe_file = "the recipe";  // what errors call it
  bool resume = false;
  bool overwrite = false;
  int threads = 0;  // of the solver; 0: all cores
};

/// Throws Error(kUsage) that names the option if a value is out of range.
void check_options(const QuantizeOptions& options);

}  // namespace tercet
