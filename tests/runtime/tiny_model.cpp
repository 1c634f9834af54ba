#include "runtime/tiny_model.h"

#include "base/random.h"
#include "model/synthetic.h"

namespace tercet {
namespace {

ModelConfig tiny_config() {
  ModelConfig config;
  config.hidden_size = 64;
  config.vocab_size = kTinyVocab;
  config.layers = {LayerType::kGatedDeltaNet, LayerType::kGatedAttention, LayerType::kGatedDeltaNet};
  config.max_position_embeddings = 4096;
  config.attention_heads = 4;
  config.kv_heads = 2;
  config.head_dim = 32;
  config.rotary_dim = 16;
  config.key_heads = 2;
  config.value_heads = 4;
  config.key_head_dim = 32;
  config.value_head_dim = 32;
  config.conv_kernel = 4;
  config.experts = 6;
  config.top_k = 2;
  config.expert_width = 32;
  config.shared_width = 32;
  return config;
}

}  // namespace

TinyModel::TinyModel(const BackendCase& which, const StepSize& size, int bits)
    : backend(open_backend(which)) {
  const ModelConfig config = tiny_config();
  model = std::make_unique<Model>(*backend, config, synthetic_weights(*backend, config, bits, 7), size);
}

std::vector<int32_t> random_tokens(int64_t length, uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(length));
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(kTinyVocab));
  return ids;
}

}  // namespace tercet
