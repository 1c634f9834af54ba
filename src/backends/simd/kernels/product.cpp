#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/panel_codes.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

/// Two consecutive columns of a dense panel, for sixteen outputs.
struct Pair {
  F even, odd;
};

template <Codes kCodes>
Pair load_pair(const uint8_t* p) {
  if constexpr (kCodes == Codes::kF32) return {as_float(load(p)), as_float(load(p + 64))};
  const I pair = load(p);
  return {as_float(shift_left<16>(pair)), as_float(pair & splat(static_cast<int32_t>(0xffff0000U)))};
}

template <Codes kCodes>
inline constexpr int64_t kPairBytes = kCodes == Codes::kF32 ? 128 : 64;

/// Where the results of some rows and panels are, and how they begin.
struct Target {
  float* out;  // of the first row and panel
  int64_t stride;
  int64_t outputs;  // columns, from the first panel's first on
  bool from_zero;   // else the chains go on from what is there

  F start(int64_t row, int64_t panel) const {
    return from_zero ? splat(0.0F) : load_n(at(row, panel), lanes(panel));
  }
  void finish(int64_t row, int64_t panel, F total) const { store_n(at(row, panel), total, lanes(panel)); }

 private:
  float* at(int64_t row, int64_t panel) const { return out + row * stride + panel * kLanes; }
  int64_t lanes(int64_t panel) const {
    const int64_t left = outputs - panel * kLanes;
    return left < kLanes ? left : kLanes;
  }
};

/// R rows times P dense panels, each `panel_bytes` after the other: a chain of fused multiply-adds over
/// rising columns for each output. x [depth][R]; the depth is even.
template <Codes kCodes, int R, int P>
void multiply(const uint8_t* panels, int64_t panel_bytes, int64_t depth, const float* x,
              const Target& target) {
  F total[P][R];
  for (int p = 0; p < P; ++p) {
    for (int r = 0; r < R; ++r) total[p][r] = target.start(r, p);
  }
  for (int64_t k = 0; k < depth; k += 2, panels += kPairBytes<kCodes>, x += 2 * R) {
    for (int p = 0; p < P; ++p) {
      const Pair w = load_pair<kCodes>(panels + p * panel_bytes);
      for (int r = 0; r < R; ++r) {
        total[p][r] = fma(splat(x[R + r]), w.odd, fma(splat(x[r]), w.even, total[p][r]));
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int r = 0; r < R; ++r) target.finish(r, p, total[p][r]);
  }
}

/// A tile of rows times `count` panels, at most four; a single row takes four at once to hide the latency of
/// the chains.
template <Codes kCodes>
void multiply_tile(const uint8_t* panels, int64_t panel_bytes, int64_t count, int64_t depth, const float* x,
                   int64_t rows, Target target) {
  if (rows == 1 && count == 4) return multiply<kCodes, 1, 4>(panels, panel_bytes, depth, x, target);
  for (int64_t p = 0; p < count; ++p) {
    if (rows == 1) multiply<kCodes, 1, 1>(panels, panel_bytes, depth, x, target);
    if (rows == 2) multiply<kCodes, 2, 1>(panels, panel_bytes, depth, x, target);
    if (rows == 4) multiply<kCodes, 4, 1>(panels, panel_bytes, depth, x, target);
    if constexpr (kTileRows >= 8) {
      if (rows == 8) multiply<kCodes, 8, 1>(panels, panel_bytes, depth, x, target);
    }
    panels += panel_bytes;
    target.out += kLanes;
    target.outputs -= kLanes;
  }
}

constexpr int64_t kPanelsAtOnce = 4;

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

template <Codes kCodes>
void dense_product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                   int64_t stride) {
  each_tile(x.rows, begin, end, kPanelsAtOnce, [&](int64_t panel, int64_t left, int64_t row, int64_t rows) {
    const Target target = {out + row * stride + (panel - begin) * kLanes, stride, w.rows - panel * kLanes,
                           true};
    multiply_tile<kCodes>(w.data + panel * w.panel_bytes, w.panel_bytes, smaller(left, kPanelsAtOnce),
                          w.depth, x.values + row * x.depth, rows, target);
  });
}

/// Columns first ... first + depth - 1 of a panel of codes as fp32 [depth][16]: scale * (code - zero), where
/// the difference is exact and the product rounds once.
template <int kBits>
void decode(const Panels& w, const uint8_t* panel, int64_t first, int64_t depth, float* out) {
  const uint8_t* codes = panel + w.codes_offset + first / kBlock * kBlockBytes<kBits>;
  F scales = splat(0.0F);
  I zeros = splat(0);
  for (int64_t k = first; k < first + depth; k += kBlock, codes += kBlockBytes<kBits>) {
    prefetch_block<kBits>(codes);
    if (k == first || k % w.group == 0) {
      scales = load_scales(w.scale_type, panel, k / w.group);
      zeros = load_zeros(w, panel, k / w.group);
    }
    each_unit([&]<int kUnit>() __attribute__((always_inline)) {
      const I u = unit<kBits, kUnit>(codes);
      const I columns[4] = {u & splat(0xff), shift_right<8>(u) & splat(0xff),
                            shift_right<16>(u) & splat(0xff), shift_right<24>(u)};
      for (const I& column : columns) {
        store(out, scales * to_float(column - zeros));
        out += kLanes;
      }
    });
  }
}

/// Some columns of a few panels are decoded, and then meet all rows.
template <int kBits>
void code_product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                  int64_t stride) {
  constexpr int64_t kColumns = 128;
  alignas(64) float values[kPanelsAtOnce][kColumns * kLanes];
  for (int64_t panel = begin; panel < end; panel += kPanelsAtOnce) {
    const int64_t count = smaller(end - panel, kPanelsAtOnce);
    for (int64_t k = 0; k < w.depth; k += kColumns) {
      const int64_t depth = smaller(kColumns, w.depth - k);
      for (int64_t p = 0; p < count; ++p) {
        decode<kBits>(w, w.data + (panel + p) * w.panel_bytes, k, depth, values[p]);
      }
      for (int64_t row = 0; row < x.rows;) {
        const int64_t rows = tile_rows(x.rows - row, kTileRows);
        const Target target = {out + row * stride + (panel - begin) * kLanes, stride, w.rows - panel * kLanes,
                               k == 0};
        multiply_tile<Codes::kF32>(reinterpret_cast<const uint8_t*>(values[0]), sizeof(values[0]), count,
                                   depth, x.values + row * x.depth + k * rows, rows, target);
        row += rows;
      }
    }
  }
}

}  // namespace

void product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out, int64_t stride) {
  if (x.group > 0) return int8_product(w, x, begin, end, out, stride);
  switch (w.codes) {
    case Codes::kBf16:
      return dense_product<Codes::kBf16>(w, x, begin, end, out, stride);
    case Codes::kF32:
      return dense_product<Codes::kF32>(w, x, begin, end, out, stride);
    case Codes::kInt2:
      return code_product<2>(w, x, begin, end, out, stride);
    case Codes::kInt3:
      return code_product<3>(w, x, begin, end, out, stride);
    case Codes::kInt4:
      return code_product<4>(w, x, begin, end, out, stride);
    case Codes::kInt8:
      return code_product<8>(w, x, begin, end, out, stride);
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
