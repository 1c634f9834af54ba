#pragma once

#include "backends/simd/kernels.h"
#include "backends/simd/kernels/vec.h"

// Reading panels; weights.h draws their bytes. A block is 32 columns: eight units of 16 outputs x 4 columns,
// a column a byte of the output's lane.

namespace tercet::simd::TERCET_SIMD_NAMESPACE {

template <int kBits>
inline constexpr int64_t kBlockBytes = kLanes* kBlock* kBits / 8;

/// Unit kUnit of the block at p.
template <int kBits, int kUnit>
I unit(const uint8_t* p) {
  if constexpr (kBits == 8) {
    return load(p + 64 * kUnit);
  } else if constexpr (kBits == 4) {
    return shift_right<4 * (kUnit % 2)>(load(p + 64 * (kUnit / 2))) & splat(0x0f0f0f0f);
  } else {
    const I low = shift_right<2 * (kUnit % 4)>(load(p + 64 * (kUnit / 4)));
    if constexpr (kBits == 2) return low & splat(0x03030303);
    const I plane = load(p + 128);
    const I high = kUnit < 2                 ? shift_left < kUnit < 2 ? 2 - kUnit : 0 > (plane)
                                   : shift_right < kUnit < 2 ? 0
                                             : kUnit - 2 > (plane);
    return (low & splat(0x03030303)) | (high & splat(0x04040404));
  }
}

inline F load_scales(ScaleType type, const uint8_t* panel, int64_t group) {
  if (type == ScaleType::kF16) return load_f16(panel + group * 32);
  if (type == ScaleType::kBf16) return as_float(shift_left<16>(load_u16(panel + group * 32)));
  return as_float(load(panel + group * 64));
}

inline I load_zeros(const Panels& w, const uint8_t* panel, int64_t group) {
  return w.has_zeros ? load_u8(panel + w.zeros_offset + group * kLanes) : splat(w.zero);
}

/// Asks for the block that lies some kilobytes ahead; panels follow each other in memory. At up to four bits
/// there is so much to do for a byte that the processor alone runs too few reads ahead: a third of the
/// bandwidth. At eight bits and above it does better alone.
template <int kBits>
void prefetch_block(const uint8_t* p) {
  constexpr int64_t kAhead = 4096;
  if constexpr (kBits > 4) return;
  for (int64_t i = 0; i < kBlockBytes<kBits>; i += 64) __builtin_prefetch(p + kAhead + i);
}

/// Panel `index`, without what hangs over the matrix.
inline int64_t panel_outputs(const Panels& w, int64_t index) {
  const int64_t left = w.rows - index * kLanes;
  return left < kLanes ? left : kLanes;
}

/// Calls step<0>() ... step<7>(): the units of a block need their index as a constant.
template <class Step>
inline __attribute__((always_inline)) void each_unit(const Step& step) {
  step.template operator()<0>();
  step.template operator()<1>();
  step.template operator()<2>();
  step.template operator()<3>();
  step.template operator()<4>();
  step.template operator()<5>();
  step.template operator()<6>();
  step.template operator()<7>();
}

/// Runs visit(panel, first row, tile rows) over panels x tiles: a few panels at a time meet all tiles, so
/// that a tile is read from the nearest cache and a panel from memory once.
template <class Visit>
void each_tile(int64_t rows, int64_t begin, int64_t end, int64_t panels_a_visit, const Visit& visit) {
  constexpr int64_t kPanelsPerPass = 8;
  for (int64_t first = begin; first < end; first += kPanelsPerPass) {
    const int64_t last = first + kPanelsPerPass < end ? first + kPanelsPerPass : end;
    for (int64_t row = 0; row < rows;) {
      const int64_t tile = tile_rows(rows - row, kTileRows);
      for (int64_t p = first; p < last; p += panels_a_visit) visit(p, last - p, row, tile);
      row += tile;
    }
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
