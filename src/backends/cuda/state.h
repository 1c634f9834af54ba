#pragma once

#include "backends/cuda/device.h"
#include "backends/cuda/kernels/views.h"
#include "ops/backend.h"

namespace tercet::cuda {

/// Pages, each [attention_layers, keys then values, kPageSize, kv_heads, head_dim], and slots, each
/// [gdn_layers, ...].
struct CudaState final : State {
  DeviceMemory page_memory;
  DeviceMemory slot_memory;

  float* page(int64_t page) const {
    return static_cast<float*>(page_memory.get()) + page * shape.page_floats();
  }
  float* slot(int64_t slot) const {
    return static_cast<float*>(slot_memory.get()) + slot * shape.slot_floats();
  }

  KvView kv(int64_t layer) const {
    const int64_t layer_floats = shape.page_floats() / shape.attention_layers;
    return {page(0) + layer * layer_floats, shape.page_floats(), shape.kv_heads, shape.head_dim};
  }
  SlotView recurrent(int64_t layer) const {
    const int64_t layer_floats = shape.slot_floats() / shape.gdn_layers;
    return {slot(0) + layer * layer_floats,
            shape.slot_floats(),
            shape.key_heads,
            shape.value_heads,
            shape.key_dim,
            shape.value_dim,
            shape.conv_kernel,
            shape.conv_channels()};
  }
};

}  // namespace tercet::cuda
