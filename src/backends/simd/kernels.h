#pragma once

#include <cstdint>

// What the kernels of one instruction set offer, in plain types. The kernels' own files include nothing but
// this, their vector type and intrinsics: a function that other files also compile could be merged by the
// linker with a copy that uses instructions the processor lacks. For the same reason the functions here are
// static.

namespace tercet::simd {

inline constexpr int64_t kLanes = 16;       // outputs of a panel
inline constexpr int64_t kBlock = 32;       // columns of a block, the unit that depths are padded to
inline constexpr int64_t kKernelPage = 64;  // kPageSize and kChunkSize
inline constexpr int64_t kHeadTile = 4;     // query heads that one attention job computes together, at most
inline constexpr int64_t kRowTile = 16;     // rows of one attention job, at most

enum class Codes : int32_t { kBf16, kF32, kInt2, kInt3, kInt4, kInt8 };
enum class ScaleType : int32_t { kF16, kBf16, kF32 };

/// A matrix [rows, cols] in panels of 16 outputs; see weights.h for the bytes.
struct Panels {
  const uint8_t* data = nullptr;
  Codes codes = Codes::kBf16;
  ScaleType scale_type = ScaleType::kF16;
  bool has_zeros = false;
  int32_t zero = 0;  // of every group, unless has_zeros
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t depth = 0;         // cols padded to blocks
  int64_t group = 0;         // columns that share a scale, a multiple of kBlock; not of dense matrices
  int64_t zeros_offset = 0;  // bytes from the panel's start, where its scales are
  int64_t codes_offset = 0;
  int64_t panel_bytes = 0;
};

/// The inputs of a product, in tiles of rows: a tile of R rows that starts at row r starts at element r *
/// depth, and holds values [depth][R], or codes [depth / 4][R][4] with their scales and sums [groups][R].
struct Activations {
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t group = 0;  // columns that share an activation scale; 0: values
  const float* values = nullptr;
  const int8_t* codes = nullptr;
  const float* scales = nullptr;
  const int32_t* sums = nullptr;  // of the codes of a group
};

/// Rows of the next tile of `rows`.
[[maybe_unused]] static int64_t tile_rows(int64_t rows, int64_t largest) {
  while (largest > rows) largest /= 2;
  return largest;
}

/// Rows of one sequence and heads of one KV head.
struct AttentionJob {
  const float* query;  // of the first row and head
  float* out;          // likewise
  int64_t stride;      // floats from row to row of both
  int64_t rows;        // at most kRowTile
  int64_t heads;       // at most kHeadTile
  int64_t head_dim;
  int64_t position;      // of the first row
  const float* kv;       // of page 0, this layer and KV head: keys [head_dim][64], then values [64][head_dim]
  int64_t page_stride;   // floats from page to page
  const int32_t* pages;  // of the sequence
  float scale;
};

/// Rows of one sequence, one key head and its value heads.
struct DeltaRuleJob {
  const float* query;  // of the first row and this key head; likewise below
  const float* key;
  const float* value;  // [value_heads, value_dim] a row
  int64_t qkv_stride;
  const float* g;     // [value_heads] a row
  const float* beta;  // likewise
  int64_t gate_stride;
  float* out;  // [value_heads, value_dim] a row
  int64_t out_stride;
  int64_t rows;
  int64_t position;
  int64_t value_heads;  // of this key head
  int64_t key_dim;
  int64_t value_dim;
  float* state;      // [value_heads, key_dim, value_dim] at the start of the open chunk
  float* keys;       // [key_dim, 64] of the open chunk, normalized
  float* corrected;  // [value_heads, 64, value_dim] of the open chunk
  float* decay;      // [value_heads, 64] summed log decays of the open chunk
  float* scratch;    // delta_rule_scratch floats
};

[[maybe_unused]] static int64_t delta_rule_scratch(int64_t key_dim, int64_t value_dim) {
  return kKernelPage * (2 * key_dim + 2 * kKernelPage + 2 * value_dim) + key_dim * kKernelPage +
         2 * kKernelPage;
}

/// Rows of one sequence, some channels.
struct ConvJob {
  const float* in;  // of the first row and channel
  float* out;
  int64_t stride;  // of both
  int64_t rows;
  int64_t channels;
  int64_t position;
  const float* weights;  // [channels, kernel]
  int64_t kernel;
  float* window;  // [kernel - 1, .] by position modulo kernel - 1, from the first channel
  int64_t window_stride;
};

inline constexpr int64_t kConvChannels = 256;  // of one job, at most
inline constexpr int64_t kConvKernel = 16;     // at most

/// Every instruction set computes the same bits.
struct Kernels {
  const char* name;
  int64_t tile_rows;         // the largest tile of Activations
  const char* int8_product;  // how int8 products are made

  /// out[t][n] for all rows t, n in panels [begin, end), out starting at panel `begin`: chains of fma over
  /// rising columns, or with int8 activations exact integer sums of each activation group, scaled and added
  /// in rising order.
  void (*product)(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                  int64_t stride);
  /// One row: codes [cols padded to kBlock], scales and sums [ceil(cols / group)].
  void (*quantize_row)(const float* x, int64_t cols, int64_t group, int8_t* codes, float* scales,
                       int32_t* sums);
  /// out = x / rms(x) * w (or 1 + w); times silu(z) where z is not null.
  void (*rms_norm)(const float* x, const float* w, const float* z, int64_t cols, float eps, bool offset,
                   float* out);
  void (*silu_mul)(const float* gate, const float* up, int64_t count, float* out);
  /// x *= sigmoid(gate), of `gate[0]` alone where `whole`.
  void (*sigmoid_gate)(float* x, const float* gate, int64_t count, bool whole);
  /// out[i] = sum_j weights[j] rows[j][i]: a chain in the order of j.
  void (*weighted_sum)(const float* const* rows, const float* weights, int64_t terms, int64_t count,
                       float* out);
  void (*attention)(const AttentionJob& job);
  void (*delta_rule)(const DeltaRuleJob& job);
  void (*convolve)(const ConvJob& job);
  /// out[i][j] += sum_t scale x[t][i] y[t][j] for i in [begin, end).
  void (*accumulate)(const float* x, const float* y, int64_t rows, int64_t cols, float scale, int64_t begin,
                     int64_t end, float* out);
};

namespace scalar {
const Kernels& kernels();
}
namespace avx2 {
const Kernels& kernels();
}
namespace avx512 {
const Kernels& kernels();
}

}  // namespace tercet::simd
