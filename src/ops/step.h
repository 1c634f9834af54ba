#pragma once

#include <cstdint>
#include <vector>

namespace tercet {

/// Positions that share a page of the KV cache; also where attention splits its keys, so that the order of
/// its sums depends on the position alone.
inline constexpr int64_t kPageSize = 64;

/// Positions after which the gated delta rule advances its state; inside a chunk, rows are computed from the
/// chunk's start state and the chunk's earlier rows.
inline constexpr int64_t kChunkSize = 64;

/// The rows of one sequence in a step: `rows` consecutive rows of the batch at positions position, position +
/// 1, ...
struct SequenceSpan {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t position = 0;  // of the first row
  int64_t slot = 0;      // recurrent state
  int64_t first_page =
      0;  // index into Step::pages of the page of position 0; the page table covers position + rows
};

/// One step of the model, described once on the host: a ragged batch in which prefill and decode are the
/// same. The spans lie one after another and cover the rows exactly; no slot and no written page occurs
/// twice.
struct Step {
  std::vector<int32_t> tokens;  // [rows]
  std::vector<SequenceSpan> sequences;
  std::vector<int32_t> pages;       // the page tables, one after another
  std::vector<int32_t> logit_rows;  // rows whose logits are wanted

  int64_t rows() const { return static_cast<int64_t>(tokens.size()); }
};

/// The largest step a backend must be ready for; scratch is planned for it once.
struct StepLimits {
  int64_t rows = 0;
  int64_t sequences = 0;
  int64_t pages = 0;  // entries of all page tables of a step
  int64_t logit_rows = 0;
  int64_t widest = 0;  // the most columns of any input of a product
  int64_t top_k = 0;   // experts a row; 0 without experts
  int64_t experts = 0;
  int64_t expert_width = 0;
  int64_t vocab = 0;
};

/// What a model keeps of each sequence: sizes only.
struct StateShape {
  int64_t attention_layers = 0;  // the MTP layer's included, last
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t gdn_layers = 0;
  int64_t key_heads = 0;
  int64_t value_heads = 0;
  int64_t key_dim = 0;    // of a head
  int64_t value_dim = 0;  // of a head
  int64_t conv_kernel = 0;

  int64_t conv_channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  /// Floats of one page: keys and values [kPageSize, kv_heads, head_dim] of every attention layer.
  int64_t page_floats() const { return attention_layers * 2 * kPageSize * kv_heads * head_dim; }
  /// Floats of one slot: per GDN layer the chunk's start state [value_heads, key_dim, value_dim], the open
  /// chunk's keys [kChunkSize, key_heads, key_dim], corrected values [kChunkSize, value_heads, value_dim] and
  /// summed log decays [kChunkSize, value_heads], and the last conv_kernel - 1 raw inputs of the convolution
  /// [conv_kernel - 1, conv_channels].
  int64_t slot_floats() const {
    return gdn_layers * (value_heads * key_dim * value_dim +
                         kChunkSize * (key_heads * key_dim + value_heads * value_dim + value_heads) +
                         (conv_kernel - 1) * conv_channels());
  }
};

}  // namespace tercet
