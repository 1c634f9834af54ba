#include <cmath>
#include <cstring>

#include "backends/simd/memory.h"
#include "backends/simd/weights.h"
#include "base/error.h"
#include "base/float_types.h"
#include "base/random.h"

namespace tercet::simd {
namespace {

/// Random BF16 values of variance 1 / cols.
void fill_values(SplitMix64& random, const Panels& panels, uint8_t* panel) {
  const float step = 3.46F / std::sqrt(static_cast<float>(panels.cols)) / 65536.0F;
  for (int64_t i = 0; i < panels.panel_bytes; i += 8) {
    const uint64_t bits = random.next();
    uint16_t values[4];
    for (int j = 0; j < 4; ++j) {
      values[j] = float_to_bf16(step * static_cast<float>(static_cast<int16_t>(bits >> (16 * j))));
    }
    std::memcpy(panel + i, values, 8);
  }
}

/// Random codes, any bits being valid ones, and fp16 scales for about the same variance.
void fill_codes(SplitMix64& random, const Panels& panels, int bits, uint8_t* panel) {
  const float step = 3.46F / std::sqrt(static_cast<float>(panels.cols)) / static_cast<float>(1 << bits);
  for (int64_t i = 0; i < panels.codes_offset; i += 2) {
    const uint16_t scale = float_to_fp16(step * static_cast<float>(0.75 + 0.5 * random.uniform()));
    std::memcpy(panel + i, &scale, 2);
  }
  for (int64_t i = panels.codes_offset; i < panels.panel_bytes; i += 8) {
    const uint64_t codes = random.next();
    std::memcpy(panel + i, &codes, 8);
  }
}

Panels layout_of(const SyntheticSpec& spec) {
  if (spec.bits == 16) return layout(Codes::kBf16, spec.rows, spec.cols);
  const Codes codes = spec.bits == 2   ? Codes::kInt2
                      : spec.bits == 3 ? Codes::kInt3
                      : spec.bits == 4 ? Codes::kInt4
                                       : Codes::kInt8;
  const int64_t group = spec.group_size < 0 ? spec.cols : spec.group_size;
  Panels panels = layout(codes, spec.rows, spec.cols, ScaleType::kF16, group);
  panels.zero = 1 << (spec.bits - 1);
  return panels;
}

}  // namespace

Weight prepare_random_weight(ThreadPool& pool, bool exact, const SyntheticSpec& spec) {
  auto weight = std::make_shared<SimdWeight>();
  Matrix matrix;
  matrix.panels = layout_of(spec);
  const int64_t group = matrix.panels.group;
  if (!exact && spec.bits < 16)
    matrix.activation_group = group >= spec.cols || group % 128 == 0 ? 128 : group;
  const int64_t panels = panel_count(matrix.panels);
  const int64_t matrix_bytes = panels * matrix.panels.panel_bytes;
  weight->count = spec.count;
  weight->rows = spec.rows;
  weight->cols = spec.cols;
  weight->bytes = spec.count * matrix_bytes;
  weight->kernel = kernel_name(matrix);
  weight->memory.push_back(allocate_memory(weight->bytes));
  auto* data = static_cast<uint8_t*>(weight->memory.front().get());
  pool.parallel_for(spec.count * panels, [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) {
      SplitMix64 random(mix64(mix64(spec.seed) + static_cast<uint64_t>(p)));
      uint8_t* panel = data + p * matrix.panels.panel_bytes;
      if (spec.bits == 16) {
        fill_values(random, matrix.panels, panel);
      } else {
        fill_codes(random, matrix.panels, spec.bits, panel);
      }
    }
  });
  for (int64_t i = 0; i < spec.count; ++i) {
    matrix.panels.data = data + i * matrix_bytes;
    weight->matrices.push_back(matrix);
  }
  return weight;
}

}  // namespace tercet::simd
