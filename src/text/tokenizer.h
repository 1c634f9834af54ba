#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/bpe.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_json.h"

namespace tercet {

/// Text to token ids and back, equal to the `tokenizers` library on the same `tokenizer.json`. Immutable: any
/// number of threads may use one.
class Tokenizer {
 public:
  /// Reads `tokenizer.json` of a model folder. Throws Error (io, checkpoint).
  static Tokenizer load(const std::string& model_folder);

  /// The same from the file's content; `file` names it in errors.
  static Tokenizer parse(std::string_view json, const std::string& file);

  /// Ids of `text`, which is read as UTF-8 with U+FFFD for what is invalid. Added tokens are found first
  /// (leftmost, then longest; with `added_tokens` false they are plain text), each piece between them is
  /// brought to NFC and cut by the split pattern, and the cuts are merged. Nothing is added in front or
  /// behind. Throws Error (usage) for a text of 4 GiB or more.
  std::vector<int32_t> encode(std::string_view text, bool added_tokens = true) const;

  /// Text of `ids`, U+FFFD for what is not UTF-8. Ids without a token (a model's padding rows) stand for
  /// nothing; `skip_special` leaves out the special tokens.
  std::string decode(std::span<const int32_t> ids, bool skip_special = false) const;

  /// Tokens, added ones included; ids are 0 ... vocab_size() - 1. The rows of a model may be more.
  int64_t vocab_size() const { return static_cast<int64_t>(bytes_.size()); }

  /// The id of a token spelled as in the file (`<|im_end|>`; ordinary tokens in the byte alphabet, `Ġthe`).
  std::optional<int32_t> token_to_id(std::string_view token) const;

  /// Whether `id` is an added token marked as special. False for ids without a token.
  bool is_special(int32_t id) const;

  /// The bytes that `id` stands for; they need not be whole code points. Empty for ids without a token.
  std::string_view token_bytes(int32_t id) const;

 private:
  struct AddedMatch {
    int64_t begin, length;
    int32_t id;
  };

  explicit Tokenizer(TokenizerSpec spec);

  /// The first added token of `text` from `from` on; of those that begin there the longest. Length 0: none.
  AddedMatch find_added(std::string_view text, int64_t from) const;

  Bpe bpe_;
  Pretokenizer pretokenizer_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<std::string> bytes_;                      // by id
  std::vector<bool> special_;                           // by id
  std::vector<std::pair<std::string, int32_t>> added_;  // sorted by content
  std::array<bool, 256> begins_added_{};                // first bytes of added tokens
};

}  // namespace tercet
