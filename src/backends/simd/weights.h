#pragma once

#include <vector>

#include "backends/simd/kernels.h"
#include "base/thread_pool.h"
#include "ops/backend.h"

namespace tercet::simd {

// A matrix [N, K] lies in panels of 16 outputs, one after another, each [scales | zeros | codes]:
//
//   scales  [groups][16] fp16, bf16 or fp32, whichever holds all of them exactly     quantized only
//   zeros   [groups][16] bytes, filled up to 64                                      where zeros differ
//   codes   blocks of 32 columns; K is padded to whole blocks, which meet zero inputs
//
// A block lists its 64-byte rows; lane n (4 bytes) of a row is output n. kB is byte B of the lane, for column
// k:
//
//   bf16   16 rows of 2 columns    row r   | k=2r bits 15..0 | k=2r+1 bits 15..0 |          16    bits a
//   weight f32    32 rows of 1 column                                                              32 int8 8
//   rows of 4 columns    row r   byte B: | k=4r+B: 7 6 5 4 3 2 1 0 |                8 int4    4 rows of 8
//   columns    row r   byte B: | k=8r+4+B: 3 2 1 0 | k=8r+B: 3 2 1 0 |    4 int2    2 rows of 16 columns row
//   r   byte B: | 16r+12+B: 1 0 | 16r+8+B: 1 0 | 16r+4+B: 1 0 | 16r+B: 1 0 |   2 int3    2 rows as int2 with
//   the codes' bits 1 and 0, then one row of bit 2:               3
//                                  row 2   byte B: | 28+B | 24+B | 20+B | 16+B | 12+B | 8+B | 4+B | B |
//
// Four columns of an output in the bytes of one lane are what vpdpbusd and vpmaddubsw multiply with four
// activations that all lanes share. With fp16 scales a group of 128 adds 16 / 128 bits a weight: 4.125 bits
// at 4.

/// One matrix of a stack.
struct Matrix {
  Panels panels;
  int64_t activation_group = 0;  // of int8 products; 0: always fp32 activations
  std::vector<int32_t> order;    // column of the matrix at each column of the panels; empty: the same
};

struct SimdWeight final : PreparedWeight {
  std::vector<Matrix> matrices;
  std::vector<Buffer> memory;
};

/// A panel description without data; `scale_type` and `group` of quantized codes only.
Panels layout(Codes codes, int64_t rows, int64_t cols, ScaleType scale_type = ScaleType::kF16,
              int64_t group = 0, bool has_zeros = false);

int64_t panel_count(const Panels& panels);

/// What multiplies by a matrix: for PreparedWeight::kernel.
std::string kernel_name(const Matrix& matrix);

/// Packs a stack; the pool shares each matrix.
Weight prepare_weight(ThreadPool& pool, bool exact, int64_t count,
                      const std::function<CanonicalMatrix(int64_t)>& matrix);

/// Random codes and scales, written in place: gigabytes in seconds, the same for any number of threads.
Weight prepare_random_weight(ThreadPool& pool, bool exact, const SyntheticSpec& spec);

/// One row as fp32 into out [cols].
void unpack_row(const Matrix& matrix, int64_t row, float* out);

}  // namespace tercet::simd
