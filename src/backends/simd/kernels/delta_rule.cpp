#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/matmul.h"

namespace tercet::simd::TERCET_SIMD_NAMESPACE {
namespace {

constexpr int64_t kChunk = kKernelPage;

/// The rows of one chunk that a job brings: rows first ... first + count - 1 of the chunk, the job's rows
/// from `start`.
struct Part {
  int64_t start;
  int64_t first;
  int64_t count;
  bool zero_state;  // the sequence's first chunk
};

/// Scratch, for the keys and then the queries of a part's rows.
struct Scratch {
  float* inputs;     // [2, 64, key_dim] normalized
  float* dots;       // [2, 64, 64] with the chunk's keys
  float* read;       // [2, 64, value_dim] of the start state
  float* scaled;     // [key_dim, 64] the chunk's keys times their decays
  float* shares;     // [64]
  float* exponents;  // [64]

  explicit Scratch(const DeltaRuleJob& job) {
    inputs = job.scratch;
    dots = inputs + 2 * kChunk * job.key_dim;
    read = dots + 2 * kChunk * kChunk;
    scaled = read + 2 * kChunk * job.value_dim;
    shares = scaled + job.key_dim * kChunk;
    exponents = shares + kChunk;
  }
};

void normalize(const float* x, int64_t count, float factor, float* out) {
  F squares = splat(0.0F);
  for_lanes(count, [&](int64_t i, int64_t n) {
    const F v = load_n(x + i, n);
    squares = fma(v, v, squares);
  });
  const F scale = splat(factor / __builtin_sqrtf(sum(squares) + 1e-6F));
  for_lanes(count, [&](int64_t i, int64_t n) { store_n(out + i, load_n(x + i, n) * scale, n); });
}

/// Normalized inputs, the chunk's keys, and all dot products with them; columns of keys that are still to
/// come are computed with what lies there, and not used.
void load_part(const DeltaRuleJob& job, const Part& part, const Scratch& scratch) {
  const int64_t size = job.key_dim;
  float* queries = scratch.inputs + part.count * size;
  for (int64_t r = 0; r < part.count; ++r) {
    float* key = scratch.inputs + r * size;
    normalize(job.key + (part.start + r) * job.qkv_stride, size, 1.0F, key);
    normalize(job.query + (part.start + r) * job.qkv_stride, size,
              1.0F / __builtin_sqrtf(static_cast<float>(size)), queries + r * size);
    for (int64_t d = 0; d < size; ++d) job.keys[d * kChunk + part.first + r] = key[d];
  }
  const int64_t columns = (part.first + part.count + 15) / 16 * 16;
  matmul(scratch.inputs, size, 2 * part.count, job.keys, kChunk, size, scratch.dots, kChunk, columns, true);
}

float exp_of(float x) {
  float lanes[kLanes];
  store(lanes, exp(splat(x)));
  return lanes[0];
}

/// shares[j] = e^(G_i - G_j) dots[j] for j < count.
void decay_dots(const float* dots, const float* decay, int64_t i, int64_t count, float* shares) {
  for_lanes(count, [&](int64_t j, int64_t n) {
    store_n(shares + j, exp(splat(decay[i]) - load_n(decay + j, n)) * load_n(dots + j, n), n);
  });
}

/// One value head: n_i and o_i for the part's rows, one after another.
void read_part(const DeltaRuleJob& job, const Part& part, const Scratch& scratch, int64_t head) {
  const int64_t size = job.value_dim;
  const float* state = job.state + head * job.key_dim * size;
  float* corrected = job.corrected + head * kChunk * size;
  float* decay = job.decay + head * kChunk;
  if (!part.zero_state) {
    matmul(scratch.inputs, job.key_dim, 2 * part.count, state, size, job.key_dim, scratch.read, size, size,
           true);
  }
  for (int64_t r = 0; r < part.count; ++r) {
    const int64_t t = part.start + r;
    const int64_t i = part.first + r;
    decay[i] = (i == 0 ? 0.0F : decay[i - 1]) + job.g[t * job.gate_stride + head];
    const F kept = splat(exp_of(decay[i]));
    const F beta = splat(job.beta[t * job.gate_stride + head]);
    const float* value = job.value + t * job.qkv_stride + head * size;
    const float* key_read = scratch.read + r * size;
    const float* query_read = scratch.read + (part.count + r) * size;
    float* row = corrected + i * size;
    float* out = job.out + t * job.out_stride + head * size;

    decay_dots(scratch.dots + r * kChunk, decay, i, i, scratch.shares);
    matmul(scratch.shares, kChunk, 1, corrected, size, i, row, size, size, true);
    for_lanes(size, [&](int64_t d, int64_t n) {
      F seen = load_n(row + d, n);
      if (!part.zero_state) seen = fma(kept, load_n(key_read + d, n), seen);
      store_n(row + d, beta * (load_n(value + d, n) - seen), n);
    });
    decay_dots(scratch.dots + (part.count + r) * kChunk, decay, i, i + 1, scratch.shares);
    matmul(scratch.shares, kChunk, 1, corrected, size, i + 1, out, size, size, true);
    if (part.zero_state) continue;
    for_lanes(size, [&](int64_t d, int64_t n) {
      store_n(out + d, fma(kept, load_n(query_read + d, n), load_n(out + d, n)), n);
    });
  }
}

/// S <- e^{G_C} S + sum_j e^{G_C - G_j} k_j n_j^T
void advance(const DeltaRuleJob& job, const Part& part, const Scratch& scratch, int64_t head) {
  const int64_t size = job.value_dim;
  float* state = job.state + head * job.key_dim * size;
  const float* decay = job.decay + head * kChunk;
  for_lanes(kChunk, [&](int64_t j, int64_t) {
    store(scratch.exponents + j, exp(splat(decay[kChunk - 1]) - load(decay + j)));
  });
  for (int64_t d = 0; d < job.key_dim; ++d) {
    for_lanes(kChunk, [&](int64_t j, int64_t) {
      store(scratch.scaled + d * kChunk + j, load(job.keys + d * kChunk + j) * load(scratch.exponents + j));
    });
  }
  if (!part.zero_state) {
    const F kept = splat(exp_of(decay[kChunk - 1]));
    for_lanes(job.key_dim * size,
              [&](int64_t i, int64_t n) { store_n(state + i, load_n(state + i, n) * kept, n); });
  }
  matmul(scratch.scaled, kChunk, job.key_dim, job.corrected + head * kChunk * size, size, kChunk, state, size,
         size, part.zero_state);
}

}  // namespace

void delta_rule(const DeltaRuleJob& job) {
  const Scratch scratch(job);
  for (int64_t t = 0; t < job.rows;) {
    const int64_t position = job.position + t;
    const int64_t first = position % kChunk;
    const int64_t left = job.rows - t;
    const Part part = {t, first, left < kChunk - first ? left : kChunk - first, position < kChunk};
    load_part(job, part, scratch);
    for (int64_t head = 0; head < job.value_heads; ++head) {
      read_part(job, part, scratch, head);
      if (part.first + part.count == kChunk) advance(job, part, scratch, head);
    }
    t += part.count;
  }
}

}  // namespace tercet::simd::TERCET_SIMD_NAMESPACE
