#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/panel_codes.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

/// The tile of Activations that starts at `row`.
struct Tile {
  const int8_t* codes;
  const float* scales;
  const int32_t* sums;

  Tile(const Activations& x, int64_t row) {
    const int64_t groups = (x.depth + x.group - 1) / x.group;
    codes = x.codes + row * x.depth;
    scales = x.scales + row * groups;
    sums = x.sums + row * groups;
  }
};

/// R rows times one panel. A single row needs several chains of integer sums to hide their latency; integers
/// add up to the same whatever the order.
template <int kBits, int R>
void multiply(const Panels& w, const uint8_t* panel, const Activations& x, Tile tile, int64_t outputs,
              float* out, int64_t stride) {
  constexpr int kChains = R >= kDotChains ? 1 : kDotChains / R;
  F result[R];
  for (F& r : result) r = splat(0.0F);
  const uint8_t* codes = panel + w.codes_offset;
  int64_t group = 0;
  int64_t group_end = w.group;
  for (int64_t k = 0; k < w.depth; k += x.group) {
    if (k == group_end) {
      ++group;
      group_end += w.group;
    }
    Dot<kBits> dot[R][kChains];
    const int64_t end = k + x.group < w.depth ? k + x.group : w.depth;
    for (int64_t block = k; block < end; block += kBlock) {
      prefetch_block<kBits>(codes);
      each_unit([&]<int kUnit>() __attribute__((always_inline)) {
        const I u = unit<kBits, kUnit>(codes);
        for (int r = 0; r < R; ++r) dot[r][kUnit % kChains].add(u, tile.codes + (kUnit * R + r) * 4);
      });
      for (int r = 0; r < R; ++r) {
        for (int c = 0; c < kChains; ++c) dot[r][c].end_block();
      }
      codes += kBlockBytes<kBits>;
      tile.codes += kBlock * R;
    }
    const F scales = load_scales(w.scale_type, panel, group);
    for (int r = 0; r < R; ++r) {
      I total = dot[r][0].total;
      for (int c = 1; c < kChains; ++c) total = total + dot[r][c].total;
      const I zeros =
          w.has_zeros ? load_zeros(w, panel, group) * splat(tile.sums[r]) : splat(w.zero * tile.sums[r]);
      result[r] = fma(to_float(total - zeros), scales * splat(tile.scales[r]), result[r]);
    }
    tile.scales += R;
    tile.sums += R;
  }
  for (int r = 0; r < R; ++r) store_n(out + r * stride, result[r], outputs);
}

template <int kBits>
void multiply_all(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                  int64_t stride) {
  each_tile(x.rows, begin, end, 1, [&](int64_t p, int64_t, int64_t row, int64_t rows) {
    const uint8_t* panel = w.data + p * w.panel_bytes;
    const auto run = [&](auto* tile) {
      tile(w, panel, x, Tile(x, row), panel_outputs(w, p), out + row * stride + (p - begin) * kLanes, stride);
    };
    if constexpr (kTileRows >= 8) {
      if (rows == 8) return run(multiply<kBits, 8>);
    }
    if (rows == 4) return run(multiply<kBits, 4>);
    if (rows == 2) return run(multiply<kBits, 2>);
    run(multiply<kBits, 1>);
  });
}

}  // namespace

void int8_product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                  int64_t stride) {
  switch (w.codes) {
    case Codes::kInt2:
      return multiply_all<2>(w, x, begin, end, out, stride);
    case Codes::kInt3:
      return multiply_all<3>(w, x, begin, end, out, stride);
    case Codes::kInt4:
      return multiply_all<4>(w, x, begin, end, out, stride);
    default:
      return multiply_all<8>(w, x, begin, end, out, stride);
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
