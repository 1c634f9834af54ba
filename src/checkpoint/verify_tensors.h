#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/inventory.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/safetensors.h"

namespace tercet {

/// A canonical tensor or module name as it is on disk: `prefix` ("model.language_model." or "model.") comes
/// before the text model's names; the head, the MTP block and the vision tower have places of their own.
std::string name_on_disk(const std::string& canonical, const std::string& prefix);

/// One matrix or tensor of the inventory as it was found on disk.
struct FoundTensor {
  const TensorSpec* spec = nullptr;
  int64_t parameters = 0;                    // of this tensor, or of this expert's matrix
  std::vector<const StoredTensor*> stored;   // one float tensor, or qweight, qzeros, scales, g_idx
  std::optional<ModuleQuantization> packed;  // of integers
};

/// What `verify_tensors` compares: the inventory on one side, the files on the other.
struct TensorCheck {
  const std::vector<TensorSpec>& expected;
  const SafetensorsFolder& tensors;
  const std::optional<QuantizationConfig>& quantization;
  const std::string& folder;
  const std::string& prefix;
};

/// Finds every expected tensor in one of its forms, each with exactly its shape, and checks that nothing else
/// is stored. Throws Error(kCheckpoint) with file, tensor, expected, found.
std::vector<FoundTensor> verify_tensors(const TensorCheck& check);

}  // namespace tercet
