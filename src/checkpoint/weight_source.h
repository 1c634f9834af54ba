#pragma once

#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "format/matrix.h"

namespace tercet {

/// Where a model's weights come from, by canonical names: those of the published checkpoints without the
/// prefix `model.language_model.` or `model.`: "embed_tokens", "norm", "lm_head",
/// "layers.0.self_attn.q_proj", "layers.0.mlp.experts.5.gate_proj" (also where the file has them fused),
/// "mtp.fc", "mtp.layers.0.mlp.gate".
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  virtual const ModelConfig& config() const = 0;

  /// The matrix of a linear module, the embedding included; views stay valid as long as the source.
  /// `module` has no ".weight". With tied embeddings "lm_head" is "embed_tokens".
  virtual CanonicalMatrix matrix(const std::string& module) const = 0;

  /// A small float tensor as fp32, flattened: norms, conv1d, A_log, dt_bias; `tensor` is its full canonical
  /// name
  /// ("layers.0.linear_attn.A_log", "layers.0.linear_attn.conv1d.weight").
  virtual std::vector<float> values(const std::string& tensor) const = 0;

  /// Advice that what was read so far is not needed soon: mapped pages may be dropped. Views stay valid.
  virtual void drop_pages() const {}
};

}  // namespace tercet
