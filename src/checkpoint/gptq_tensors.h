#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/quantization_config.h"
#include "checkpoint/safetensors.h"
#include "format/matrix.h"

namespace tercet {

/// The tensors of one GPTQ module, their shapes checked, and how they are to be read.
struct GptqModule {
  const StoredTensor& qweight;  // I32 [packed_words(K), N]
  const StoredTensor& qzeros;   // I32 [groups, packed_words(N)]
  const StoredTensor& scales;   // F16, BF16 or F32 [groups, N]
  const StoredTensor& g_idx;    // I32 [K]
  ModuleQuantization packed;
  bool v1 = false;  // what the configuration says; symmetric zeros that contradict it are believed instead
};

/// The one logical form. Throws Error(kCheckpoint) if a group index is out of range or a scale is not finite.
QuantizedMatrix read_gptq(const GptqModule& module);

/// A tensor to be written.
struct TensorData {
  std::string suffix;  // of the module's name: ".qweight", ".qzeros", ".scales", ".g_idx"
  DType dtype = DType::kI32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// The four tensors of a matrix of 2, 3, 4 or 8 bits, in the order qweight, qzeros, scales (F16), g_idx. `v1`
/// stores zeros minus one. Its scales must be fp16 values.
std::vector<TensorData> gptq_tensors(const QuantizedMatrix& matrix, bool v1);

}  // namespace tercet
