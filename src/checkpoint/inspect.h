#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace tercet {

/// What one part of a model holds.
struct ComponentSummary {
  std::string name;            // as TensorSpec::component
  int64_t tensors = 0;         // stored
  int64_t parameters = 0;      // of the original model
  int64_t bytes = 0;           // stored
  double bits_per_weight = 0;  // bytes x 8 / parameters
};

/// How the integers of a checkpoint are stored, from the data.
struct QuantizationSummary {
  std::string method;      // "none", "rtn", "gptq"
  std::string container;   // "none", "gptq"
  int bits = 0;            // of most quantized weights; 0 without any
  int64_t group_size = 0;  // likewise; -1: one group a row
};

struct Inspection {
  std::string architecture;
  int64_t layers = 0;
  int64_t parameters = 0;  // all, with MTP and vision
  int64_t bytes = 0;       // of all tensors
  double bits_per_weight =
      0;  // stored bits of the text model (embedding and head, without MTP and vision) a parameter
  double quantized_bits_per_weight =
      0;  // codes, scales and zeros of quantized matrices a weight; 0 without any
  QuantizationSummary quantization;
  std::vector<ComponentSummary> components;  // in the order of the forward pass, those that are there
};

/// Sums up a checkpoint from its tensors, not from what its configuration or name says.
Inspection inspect(const Checkpoint& checkpoint);

}  // namespace tercet
