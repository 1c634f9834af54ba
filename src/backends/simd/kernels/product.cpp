#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/panel_codes.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

/// A panel read as fp32, block after block: enter() before a block's first column, then value<k>() for its
/// columns.
template <Codes kCodes>
class Reader {
 public:
  Reader(const Panels& w, int64_t panel) : data_(w.data + panel * w.panel_bytes) {}

  void enter(int64_t) {}
  void leave() { data_ += kBlockBytes < kCodes == Codes::kBf16 ? 16 : 32 > ; }

  template <int kColumn>
  F value() const {
    if constexpr (kCodes == Codes::kF32)
      return load(reinterpret_cast<const float*>(data_) + kColumn * kLanes);
    const I pair = load(data_ + 64 * (kColumn / 2));
    return as_float(kColumn % 2 == 0 ? shift_left<16>(pair)
                                     : pair & splat(static_cast<int32_t>(0xffff0000U)));
  }

 private:
  const uint8_t* data_;
};

/// scale * (code - zero): the difference is exact, the product rounds once.
template <int kBits>
class CodeReader {
 public:
  CodeReader(const Panels& w, int64_t panel)
      : w_(w), panel_(w.data + panel * w.panel_bytes), codes_(panel_ + w.codes_offset) {}

  void enter(int64_t k) {
    prefetch_block<kBits>(codes_);
    if (k % w_.group != 0) return;
    scales_ = load_scales(w_.scale_type, panel_, k / w_.group);
    zeros_ = load_zeros(w_, panel_, k / w_.group);
  }
  void leave() { codes_ += kBlockBytes<kBits>; }

  template <int kColumn>
  F value() const {
    const I u = unit<kBits, kColumn / 4>(codes_);
    const I code = shift_right<8 * (kColumn % 4)>(u) & splat(0xff);
    return scales_ * to_float(code - zeros_);
  }

 private:
  const Panels& w_;
  const uint8_t* panel_;
  const uint8_t* codes_;
  F scales_ = splat(0.0F);
  I zeros_ = splat(0);
};

template <>
class Reader<Codes::kInt2> : public CodeReader<2> {
  using CodeReader<2>::CodeReader;
};
template <>
class Reader<Codes::kInt3> : public CodeReader<3> {
  using CodeReader<3>::CodeReader;
};
template <>
class Reader<Codes::kInt4> : public CodeReader<4> {
  using CodeReader<4>::CodeReader;
};
template <>
class Reader<Codes::kInt8> : public CodeReader<8> {
  using CodeReader<8>::CodeReader;
};

/// R rows times one panel: a chain of fused multiply-adds over all columns for each output.
template <Codes kCodes, int R>
void multiply(const Panels& w, int64_t panel, const float* x, float* out, int64_t stride) {
  F result[R];
  for (F& r : result) r = splat(0.0F);
  Reader<kCodes> reader(w, panel);
  for (int64_t k = 0; k < w.depth; k += kBlock) {
    reader.enter(k);
    each_unit([&]<int kUnit>() __attribute__((always_inline)) {
      const auto column = [&]<int kColumn>() __attribute__((always_inline)) {
        const F value = reader.template value<kColumn>();
        for (int r = 0; r < R; ++r) result[r] = fma(splat(x[kColumn * R + r]), value, result[r]);
      };
      column.template operator()<4 * kUnit>();
      column.template operator()<4 * kUnit + 1>();
      column.template operator()<4 * kUnit + 2>();
      column.template operator()<4 * kUnit + 3>();
    });
    reader.leave();
    x += kBlock * R;
  }
  for (int r = 0; r < R; ++r) store_n(out + r * stride + panel * kLanes, result[r], panel_outputs(w, panel));
}

/// One row times four panels at once, to hide the latency of the chains.
template <Codes kCodes>
void multiply_four(const Panels& w, int64_t panel, const float* x, float* out) {
  F result[4] = {splat(0.0F), splat(0.0F), splat(0.0F), splat(0.0F)};
  Reader<kCodes> readers[4] = {{w, panel}, {w, panel + 1}, {w, panel + 2}, {w, panel + 3}};
  for (int64_t k = 0; k < w.depth; k += kBlock) {
    for (auto& reader : readers) reader.enter(k);
    each_unit([&]<int kUnit>() __attribute__((always_inline)) {
      const auto column = [&]<int kColumn>() __attribute__((always_inline)) {
        const F value = splat(x[k + kColumn]);
        for (int p = 0; p < 4; ++p) result[p] = fma(value, readers[p].template value<kColumn>(), result[p]);
      };
      column.template operator()<4 * kUnit>();
      column.template operator()<4 * kUnit + 1>();
      column.template operator()<4 * kUnit + 2>();
      column.template operator()<4 * kUnit + 3>();
    });
    for (auto& reader : readers) reader.leave();
  }
  for (int p = 0; p < 4; ++p) store_n(out + (panel + p) * kLanes, result[p], panel_outputs(w, panel + p));
}

template <Codes kCodes>
void multiply_all(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out,
                  int64_t stride) {
  each_tile(x.rows, begin, end, 4, [&](int64_t panel, int64_t left, int64_t row, int64_t rows) {
    const float* values = x.values + row * x.depth;
    float* result = out + row * stride;
    if (rows == 1 && left >= 4) return multiply_four<kCodes>(w, panel, values, result);
    for (int64_t p = panel; p < panel + (left < 4 ? left : 4); ++p) {
      if (rows == 1) multiply<kCodes, 1>(w, p, values, result, stride);
      if (rows == 2) multiply<kCodes, 2>(w, p, values, result, stride);
      if (rows == 4) multiply<kCodes, 4>(w, p, values, result, stride);
      if constexpr (kTileRows >= 8) {
        if (rows == 8) multiply<kCodes, 8>(w, p, values, result, stride);
      }
    }
  });
}

}  // namespace

void product(const Panels& w, const Activations& x, int64_t begin, int64_t end, float* out, int64_t stride) {
  if (x.group > 0) return int8_product(w, x, begin, end, out, stride);
  switch (w.codes) {
    case Codes::kBf16:
      return multiply_all<Codes::kBf16>(w, x, begin, end, out, stride);
    case Codes::kF32:
      return multiply_all<Codes::kF32>(w, x, begin, end, out, stride);
    case Codes::kInt2:
      return multiply_all<Codes::kInt2>(w, x, begin, end, out, stride);
    case Codes::kInt3:
      return multiply_all<Codes::kInt3>(w, x, begin, end, out, stride);
    case Codes::kInt4:
      return multiply_all<Codes::kInt4>(w, x, begin, end, out, stride);
    case Codes::kInt8:
      return multiply_all<Codes::kInt8>(w, x, begin, end, out, stride);
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
