#include <algorithm>

#include "backends/simd/simd_backend.h"

namespace tercet::simd {
namespace {

const SimdWeight& simd_weight(const PreparedWeight& weight) {
  return static_cast<const SimdWeight&>(weight);
}

/// Whether both take their inputs in one form, so that they can share them.
bool same_inputs(const Matrix& a, const Matrix& b) {
  return a.activation_group == b.activation_group && a.order.empty() && b.order.empty();
}

bool same_inputs(const SimdWeight& a, const SimdWeight& b) {
  for (size_t i = 0; i < a.matrices.size(); ++i) {
    if (!same_inputs(a.matrices[i], b.matrices[i])) return false;
  }
  return true;
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// The panels of each expert that a thread takes: equal shares of the experts' costs laid end to end, where a
/// panel costs its rows and, as if it were two rows, its own bytes.
template <class Visit>
void for_expert_panels(const std::vector<ExpertRows::Group>& groups, int64_t panels, int64_t thread,
                       int64_t threads, const Visit& visit) {
  int64_t total = 0;
  for (const ExpertRows::Group& group : groups) total += (group.rows + 2) * panels;
  const int64_t low = ThreadPool::first_item(total, thread, threads);
  const int64_t high = ThreadPool::first_item(total, thread + 1, threads);
  int64_t start = 0;
  for (const ExpertRows::Group& group : groups) {
    const int64_t cost = group.rows + 2;
    const int64_t begin = std::clamp<int64_t>(ceil_div(std::max<int64_t>(low - start, 0), cost), 0, panels);
    const int64_t end = std::clamp<int64_t>(ceil_div(std::max<int64_t>(high - start, 0), cost), 0, panels);
    if (begin < end) visit(group, begin, end);
    start += cost * panels;
  }
}

}  // namespace

void SimdBackend::do_linear(const TensorView& x, const PreparedWeight& w, TensorView out) {
  if (x.rows == 0) return;
  const Matrix& matrix = simd_weight(w).matrices.front();
  const Activations inputs = inputs_.view(matrix, 0, x.rows);
  for_rows(x.rows, x.cols, [&](int64_t t, int thread) {
    inputs_.pack(kernels_, matrix, inputs, t, x.f32() + t * x.cols, thread_scratch(thread));
  });
  share(panel_count(matrix.panels), x.rows * w.rows * w.cols, [&](int64_t begin, int64_t end, int) {
    kernels_.product(matrix.panels, inputs, begin, end, out.f32() + begin * kLanes, out.cols);
  });
}

template <class RowOf>
void SimdBackend::pack_experts(ActivationScratch& scratch, const SimdWeight& weight, const RowOf& row) {
  const std::vector<ExpertRows::Group>& groups = experts_.groups();
  const int64_t rows = groups.back().first + groups.back().rows;
  const auto pack = [&](const ExpertRows::Group& group, int thread) {
    const Matrix& matrix = weight.matrices[static_cast<size_t>(group.expert)];
    const Activations inputs = scratch.view(matrix, group.first, group.rows);
    for (int64_t r = 0; r < group.rows; ++r) {
      scratch.pack(kernels_, matrix, inputs, r, row(group.first + r), thread_scratch(thread));
    }
  };
  for_rows(static_cast<int64_t>(groups.size()), rows * weight.cols / static_cast<int64_t>(groups.size()),
           [&](int64_t g, int thread) { pack(groups[static_cast<size_t>(g)], thread); });
}

void SimdBackend::expert_hidden(const SimdWeight& gate, const SimdWeight& up,
                                const ActivationScratch& up_inputs, int64_t slots) {
  const int64_t width = gate.rows;
  const auto visit = [&](const ExpertRows::Group& group, int64_t begin, int64_t end) {
    constexpr int64_t kPanelsAtOnce = 8;  // gate's and up's outputs meet while they are in the nearest cache
    const Matrix& gate_matrix = gate.matrices[static_cast<size_t>(group.expert)];
    const Matrix& up_matrix = up.matrices[static_cast<size_t>(group.expert)];
    const Activations gate_x = inputs_.view(gate_matrix, group.first, group.rows);
    const Activations up_x = up_inputs.view(up_matrix, group.first, group.rows);
    for (int64_t p = begin; p < end; p += kPanelsAtOnce) {
      const int64_t stop = std::min(end, p + kPanelsAtOnce);
      const int64_t cols = std::min(stop * kLanes, width) - p * kLanes;
      float* g = static_cast<float*>(hidden_.get()) + group.first * width + p * kLanes;
      float* u = static_cast<float*>(up_.get()) + group.first * width + p * kLanes;
      kernels_.product(gate_matrix.panels, gate_x, p, stop, g, width);
      kernels_.product(up_matrix.panels, up_x, p, stop, u, width);
      for (int64_t r = 0; r < group.rows; ++r) {
        kernels_.silu_mul(g + r * width, u + r * width, cols, g + r * width);
      }
    }
  };
  const int64_t panels = panel_count(gate.matrices.front().panels);
  share(pool_.threads(), 2 * slots * width * gate.cols, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      for_expert_panels(experts_.groups(), panels, i, pool_.threads(), visit);
    }
  });
}

void SimdBackend::expert_output(const SimdWeight& down, const TensorView& weight, TensorView out) {
  constexpr int64_t kMostTerms = 64;
  const int64_t top_k = weight.cols;
  const int64_t slots = weight.count();
  TERCET_CHECK_LE(top_k, kMostTerms);
  const int64_t panels_at_once = std::max<int64_t>(1, expert_output_floats_ / (slots * kLanes));
  const int64_t panels = panel_count(down.matrices.front().panels);
  share(panels, slots * down.rows * down.cols, [&](int64_t begin, int64_t end, int thread) {
    float* memory = static_cast<float*>(expert_outputs_.get()) + thread * expert_output_floats_;
    for (int64_t p = begin; p < end; p += panels_at_once) {
      const int64_t stop = std::min(end, p + panels_at_once);
      const int64_t stride = (stop - p) * kLanes;
      for (const ExpertRows::Group& group : experts_.groups()) {
        const Matrix& matrix = down.matrices[static_cast<size_t>(group.expert)];
        kernels_.product(matrix.panels, inputs_.view(matrix, group.first, group.rows), p, stop,
                         memory + group.first * stride, stride);
      }
      const int64_t cols = std::min(stop * kLanes, out.cols) - p * kLanes;
      for (int64_t t = 0; t < out.rows; ++t) {
        const float* terms[kMostTerms];
        for (int64_t j = 0; j < top_k; ++j) terms[j] = memory + experts_.sorted_at(t * top_k + j) * stride;
        kernels_.weighted_sum(terms, weight.f32() + t * top_k, top_k, cols,
                              out.f32() + t * out.cols + p * kLanes);
      }
    }
  });
}

void SimdBackend::do_moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight,
                             const PreparedWeight& gate, const PreparedWeight& up, const PreparedWeight& down,
                             TensorView out) {
  if (x.rows == 0) return;
  const SimdWeight& gates = simd_weight(gate);
  const SimdWeight& ups = simd_weight(up);
  const SimdWeight& downs = simd_weight(down);
  experts_.sort(index.i32(), index.count(), gate.count);
  const auto token = [&](int64_t sorted) { return x.f32() + experts_.slot_at(sorted) / index.cols * x.cols; };
  const auto hidden = [&](int64_t sorted) {
    return static_cast<const float*>(hidden_.get()) + sorted * gate.rows;
  };
  pack_experts(inputs_, gates, token);
  const bool shared = same_inputs(gates, ups);
  if (!shared) pack_experts(other_inputs_, ups, token);
  expert_hidden(gates, ups, shared ? inputs_ : other_inputs_, index.count());
  pack_experts(inputs_, downs, hidden);
  expert_output(downs, weight, out);
}

}  // namespace tercet::simd
