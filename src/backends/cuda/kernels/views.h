#pragma once

#include <cstdint>

/// What kernels are told about weights, steps and state: plain structs of device pointers, passed by value.
namespace tercet::cuda {

/// One matrix of a prepared stack.
struct MatrixView {
  const void* data = nullptr;            // F32 or BF16 [rows, cols], or codes: `row_words` 32-bit words a row
  const float* scales = nullptr;         // [rows, groups]
  const uint8_t* zeros = nullptr;        // [rows, groups]; null: 2^(bits - 1)
  const int32_t* group_index = nullptr;  // [cols]; null: k / group_size
  int32_t bits = 0;  // 32: F32; 16: BF16; 2 to 8: code k is the bits from k * bits on, low bits first
  int32_t cols = 0;
  int32_t groups = 0;
  int32_t group_size = 0;
  int32_t row_words = 0;
};

/// A SequenceSpan on the device.
struct SpanView {
  int32_t first_row;
  int32_t rows;
  int32_t position;
  int32_t slot;
  int32_t first_page;
};

/// A Step on the device.
struct StepView {
  const int32_t* tokens = nullptr;        // [rows]
  const int32_t* row_span = nullptr;      // [rows] index into spans
  const int32_t* row_position = nullptr;  // [rows]
  const int32_t* logit_rows = nullptr;    // [logit_count]
  const int32_t* pages = nullptr;
  const SpanView* spans = nullptr;  // [span_count]
  int64_t rows = 0;
  int64_t span_count = 0;
  int64_t logit_count = 0;
};

/// Keys and values of one attention layer: keys [kPageSize, kv_heads, head_dim] of page 0 at `pages`, its
/// values after them.
struct KvView {
  float* pages = nullptr;
  int64_t page_stride = 0;  // floats from page to page
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

/// The recurrent state of one layer: StateShape's arrays of slot 0 one after another from `slots` on.
struct SlotView {
  float* slots = nullptr;
  int64_t slot_stride = 0;  // floats from slot to slot
  int64_t key_heads = 0;
  int64_t value_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t conv_kernel = 0;
  int64_t conv_channels = 0;
};

}  // namespace tercet::cuda
