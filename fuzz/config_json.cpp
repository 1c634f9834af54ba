// Text as a config.json; what is accepted must have an inventory of positive sizes, and its rules must match
// in bounded time.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/inventory.h"
#include "checkpoint/quantization_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    int64_t total = 0;
    for (const tercet::TensorSpec& spec :
         tercet::expected_tensors(tercet::parse_model_config(text, "fuzzed"))) {
      TERCET_CHECK(spec.parameters() > 0);
      TERCET_CHECK(!__builtin_add_overflow(total, spec.parameters() * 8, &total));
    }
  } catch (const tercet::Error& error) {
    TERCET_CHECK(error.kind() == tercet::ErrorKind::kCheckpoint && !error.context().found.empty());
  }
  try {
    if (const auto quantization = tercet::parse_quantization_config(text, "fuzzed")) {
      const auto module = quantization->of("model.language_model.layers.3.mlp.experts.5.down_proj");
      TERCET_CHECK(!module || module->bits >= 2);
    }
  } catch (const tercet::Error& error) {
    TERCET_CHECK(error.kind() == tercet::ErrorKind::kCheckpoint && !error.context().found.empty());
  }
  return 0;
}
