#include "quant/options.h"

#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace tercet {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& expected, const std::string& found) {
  throw Error(ErrorKind::kUsage, option + " has a value that is not possible",
              {.expected = expected, .found = found});
}

}  // namespace

const char* to_string(QuantizeMethod method) {
  return method == QuantizeMethod::kRtn ? "rtn" : "gptq";
}

QuantizeMethod quantize_method(const std::string& name) {
  if (name == "rtn") return QuantizeMethod::kRtn;
  if (name == "gptq") return QuantizeMethod::kGptq;
  refuse("method", "rtn or gptq", name);
}

int64_t FallbackThreshold::tokens(int64_t calibration_tokens) const {
  return static_cast<int64_t>(std::ceil(share ? value * static_cast<double>(calibration_tokens) : value));
}

FallbackThreshold parse_fallback_threshold(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  const bool number = end != text.c_str() && std::isfinite(value) && value >= 0;
  if (number && rest == "%" && value <= 100) return {value / 100, true};
  if (number && rest.empty() && value == std::floor(value) && value < 1e15) return {value, false};
  refuse("--fallback-threshold", "a share like 0.5% or a count of tokens", text);
}

void check_options(const QuantizeOptions& options) {
  const int bits = options.bits;
  if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
    refuse("--bits", "2, 3, 4 or 8", std::to_string(bits));
  const int64_t group = options.group_size;
  if (group != 32 && group != 64 && group != 128 && group != -1) {
    refuse("--group-size", "32, 64, 128 or -1", std::to_string(group));
  }
  if (options.refit_rounds < 0 || options.refit_rounds > 100) {
    refuse("--refit", "0 to 100 rounds", std::to_string(options.refit_rounds));
  }
  if (!(options.damp > 0 && options.damp < 1)) {
    refuse("--damp", "a number between 0 and 1", std::to_string(options.damp));
  }
}

}  // namespace tercet
