#pragma once

#include <variant>
#include <vector>

#include "checkpoint/weight_source.h"
#include "ops/backend.h"

namespace tercet {

/// A small constant in backend memory: fp32 [rows, cols].
struct Constant {
  Buffer buffer;
  TensorView view;
};

struct GatedAttentionWeights {
  Weight q_proj;    // [heads * 2 * head_dim, hidden], per head query then gate
  Weight k_proj;    // [kv_heads * head_dim, hidden]
  Weight v_proj;    // [kv_heads * head_dim, hidden]
  Weight o_proj;    // [hidden, heads * head_dim]
  Constant q_norm;  // [1, head_dim], offset from one
  Constant k_norm;  // [1, head_dim], offset from one
};

struct GatedDeltaNetWeights {
  Weight in_proj_qkv;  // [conv_channels, hidden]
  Weight in_proj_z;    // [value_dim, hidden]
  Weight in_proj_b;    // [value_heads, hidden]
  Weight in_proj_a;    // [value_heads, hidden]
  Weight out_proj;     // [hidden, value_dim]
  Constant conv1d;     // [conv_channels, conv_kernel]
  Constant a_log;      // [1, value_heads]
  Constant dt_bias;    // [1, value_heads]
  Constant norm;       // [1, value_head_dim], plain
};

/// down(silu(gate x) * up x)
struct MlpWeights {
  Weight gate_proj;  // [width, hidden]
  Weight up_proj;    // [width, hidden]
  Weight down_proj;  // [hidden, width]
};

struct MoeWeights {
  Weight router;       // [experts, hidden]
  MlpWeights experts;  // stacks of all experts
  MlpWeights shared_expert;
  Weight shared_expert_gate;  // [1, hidden]
};

struct LayerWeights {
  Constant input_layernorm;           // [1, hidden], offset from one
  Constant post_attention_layernorm;  // [1, hidden], offset from one
  std::variant<GatedDeltaNetWeights, GatedAttentionWeights> mixer;
  std::variant<MoeWeights, MlpWeights> ffn;
};

/// The multi-token-prediction head: drafts token i + 2 from the hidden state of i and the token i + 1.
struct MtpWeights {
  Constant pre_fc_norm_embedding;  // [1, hidden], offset from one
  Constant pre_fc_norm_hidden;     // [1, hidden], offset from one
  Weight fc_embedding;             // [hidden, hidden], the columns of fc that meet the embedding
  Weight fc_hidden;                // [hidden, hidden], the columns of fc that meet the hidden state
  LayerWeights layer;              // gated attention
  Constant norm;                   // [1, hidden], offset from one
};

struct ModelWeights {
  Weight embed_tokens;  // [vocab, hidden]
  std::vector<LayerWeights> layers;
  Constant norm;                // [1, hidden], offset from one
  Weight lm_head;               // [vocab, hidden]; embed_tokens where tied
  std::vector<MtpWeights> mtp;  // none or one
};

/// fp32 values as a backend constant [rows, cols].
Constant make_constant(Backend& backend, const std::vector<float>& values, int64_t rows, int64_t cols);

/// Prepares one matrix or constant, or one layer, on `backend`: the pieces that bind_weights uses, for
/// streaming a layer at a time.
Weight bind_matrix(Backend& backend, const WeightSource& source, const std::string& module);
LayerWeights bind_layer(Backend& backend, const WeightSource& source, int64_t layer);

/// Prepares all weights. `mtp` binds the draft head too where the model has one.
ModelWeights bind_weights(Backend& backend, const WeightSource& source, bool mtp);

}  // namespace tercet
