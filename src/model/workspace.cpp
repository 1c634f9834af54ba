#include "model/workspace.h"

#include <algorithm>
#include <vector>

namespace tercet {
namespace {

/// Lays views one after another, each at a multiple of 64 bytes; the buffer is made once all are known.
class Planner {
 public:
  void add(TensorView& view, int64_t rows, int64_t cols, DType dtype = DType::kF32) {
    view = {nullptr, dtype, rows, cols};
    views_.push_back(&view);
  }

  Buffer place(Backend& backend) {
    int64_t bytes = 0;
    for (const TensorView* view : views_) bytes += padded(view->bytes());
    Buffer buffer = backend.allocate(bytes);
    char* next = static_cast<char*>(buffer.get());
    for (TensorView* view : views_) {
      view->data = next;
      next += padded(view->bytes());
    }
    return buffer;
  }

 private:
  static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  std::vector<TensorView*> views_;
};

int64_t count_layers(const ModelConfig& config, LayerType type) {
  return std::count(config.layers.begin(), config.layers.end(), type);
}

int64_t mlp_width(const ModelConfig& config) {
  return config.is_moe() ? config.shared_width : config.dense_width;
}

}  // namespace

StateShape state_shape(const ModelConfig& config, bool mtp) {
  StateShape shape;
  shape.attention_layers = count_layers(config, LayerType::kGatedAttention) + (mtp ? config.mtp_layers : 0);
  shape.kv_heads = config.kv_heads;
  shape.head_dim = config.head_dim;
  shape.gdn_layers = count_layers(config, LayerType::kGatedDeltaNet);
  shape.key_heads = config.key_heads;
  shape.value_heads = config.value_heads;
  shape.key_dim = config.key_head_dim;
  shape.value_dim = config.value_head_dim;
  shape.conv_kernel = config.conv_kernel;
  return shape;
}

StepLimits step_limits(const ModelConfig& config, const StepSize& size) {
  StepLimits limits;
  limits.rows = size.rows;
  limits.sequences = size.sequences;
  limits.pages = size.sequences * ((size.context + kPageSize - 1) / kPageSize);
  limits.logit_rows = size.logit_rows;
  limits.widest = std::max({config.hidden_size, config.attention_heads * config.head_dim, config.value_dim(),
                            mlp_width(config), config.expert_width});
  limits.top_k = config.top_k;
  limits.experts = config.experts;
  limits.expert_width = config.expert_width;
  limits.vocab = config.vocab_size;
  return limits;
}

Workspace::Workspace(Backend& backend, const ModelConfig& config, const StepSize& size) {
  const int64_t rows = size.rows;
  const int64_t query_dim = config.attention_heads * config.head_dim;
  const int64_t kv_dim = config.kv_heads * config.head_dim;
  Planner plan;
  for (TensorView* view : {&hidden, &normed, &branch, &shared}) plan.add(*view, rows, config.hidden_size);
  plan.add(query_gate, rows, 2 * query_dim);
  for (TensorView* view : {&query, &gate, &attended}) plan.add(*view, rows, query_dim);
  for (TensorView* view : {&key, &value}) plan.add(*view, rows, kv_dim);
  for (TensorView* view : {&qkv, &convolved}) plan.add(*view, rows, config.conv_channels());
  for (TensorView* view : {&z, &delta, &gated}) plan.add(*view, rows, config.value_dim());
  for (TensorView* view : {&a, &b, &decay, &beta}) plan.add(*view, rows, config.value_heads);
  if (config.is_moe()) {
    plan.add(router_logits, rows, config.experts);
    plan.add(expert_index, rows, config.top_k, DType::kI32);
    plan.add(expert_weight, rows, config.top_k);
    plan.add(shared_gate, rows, 1);
  }
  for (TensorView* view : {&mlp_gate, &mlp_up, &mlp_act}) plan.add(*view, rows, mlp_width(config));
  plan.add(last_hidden, size.logit_rows, config.hidden_size);
  plan.add(logits, size.logit_rows, config.vocab_size);
  buffer_ = plan.place(backend);
}

}  // namespace tercet
