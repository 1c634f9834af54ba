#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/vec.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

F magnitude(F x) {
  return as_float(as_int(x) & splat(0x7fffffff));
}

/// One group: `count` values give codes padded with zeros to a multiple of 16.
float quantize_group(const float* x, int64_t count, int8_t* codes, int32_t* sum_of_codes) {
  F peak = splat(0.0F);
  for_lanes(count, [&](int64_t i, int64_t n) { peak = max(peak, magnitude(load_n(x + i, n))); });
  const float scale = largest(peak) / 127.0F;
  const F divisor = splat(scale == 0.0F ? 1.0F : scale);  // all values are zero then
  I codes_sum = splat(0);
  for_lanes(count, [&](int64_t i, int64_t n) {
    const F quotient = load_n(x + i, n) / divisor;
    const I code = round(min(splat(127.0F), max(splat(-127.0F), quotient)));
    codes_sum = codes_sum + code;
    store_i8(codes + i, code);
  });
  int32_t lanes[kLanes];
  __builtin_memcpy(lanes, &codes_sum, sizeof(lanes));
  *sum_of_codes = 0;
  for (const int32_t lane : lanes) *sum_of_codes += lane;
  return scale;
}

}  // namespace

void quantize_row(const float* x, int64_t cols, int64_t group, int8_t* codes, float* scales, int32_t* sums) {
  for (int64_t begin = 0; begin < cols; begin += group) {
    const int64_t count = begin + group < cols ? group : cols - begin;
    *scales++ = quantize_group(x + begin, count, codes + begin, sums++);
  }
  for (int64_t i = (cols + 15) / 16 * 16; i < (cols + kBlock - 1) / kBlock * kBlock; ++i) codes[i] = 0;
}

void rms_norm(const float* x, const float* w, const float* z, int64_t cols, float eps, bool offset,
              float* out) {
  F squares = splat(0.0F);
  for_lanes(cols, [&](int64_t i, int64_t n) {
    const F v = load_n(x + i, n);
    squares = fma(v, v, squares);
  });
  const F factor = splat(1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(cols) + eps));
  const F shift = splat(offset ? 1.0F : 0.0F);
  for_lanes(cols, [&](int64_t i, int64_t n) {
    F v = load_n(x + i, n) * factor * (shift + load_n(w + i, n));
    if (z != nullptr) v = v * silu(load_n(z + i, n));
    store_n(out + i, v, n);
  });
}

void silu_mul(const float* gate, const float* up, int64_t count, float* out) {
  for_lanes(count, [&](int64_t i, int64_t n) {
    store_n(out + i, silu(load_n(gate + i, n)) * load_n(up + i, n), n);
  });
}

void sigmoid_gate(float* x, const float* gate, int64_t count, bool whole) {
  const F shared = sigmoid(splat(whole ? gate[0] : 0.0F));
  for_lanes(count, [&](int64_t i, int64_t n) {
    store_n(x + i, load_n(x + i, n) * (whole ? shared : sigmoid(load_n(gate + i, n))), n);
  });
}

void weighted_sum(const float* const* rows, const float* weights, int64_t terms, int64_t count, float* out) {
  for_lanes(count, [&](int64_t i, int64_t n) {
    F total = splat(0.0F);
    for (int64_t j = 0; j < terms; ++j) total = fma(splat(weights[j]), load_n(rows[j] + i, n), total);
    store_n(out + i, total, n);
  });
}

void convolve(const ConvJob& job) {
  const int64_t kept = job.kernel - 1;
  float taps[kConvKernel * kConvChannels];  // [kernel][channels]
  for (int64_t c = 0; c < job.channels; ++c) {
    for (int64_t j = 0; j < job.kernel; ++j) taps[j * kConvChannels + c] = job.weights[c * job.kernel + j];
  }
  for (int64_t t = 0; t < job.rows; ++t) {
    const float* inputs[kConvKernel];  // inputs[back]
    int64_t inputs_count = 0;
    for (; inputs_count <= kept && inputs_count <= job.position + t; ++inputs_count) {
      const int64_t earlier = t - inputs_count;
      inputs[inputs_count] = earlier >= 0 ? job.in + earlier * job.stride
                                          : job.window + (job.position + earlier) % kept * job.window_stride;
    }
    for_lanes(job.channels, [&](int64_t c, int64_t n) {
      F total = splat(0.0F);
      for (int64_t back = inputs_count - 1; back >= 0; --back) {
        total = fma(load_n(taps + (kept - back) * kConvChannels + c, n), load_n(inputs[back] + c, n), total);
      }
      store_n(job.out + t * job.stride + c, silu(total), n);
    });
  }
  for (int64_t t = job.rows > kept ? job.rows - kept : 0; t < job.rows; ++t) {
    float* keep = job.window + (job.position + t) % kept * job.window_stride;
    __builtin_memcpy(keep, job.in + t * job.stride, static_cast<uint64_t>(job.channels) * sizeof(float));
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
