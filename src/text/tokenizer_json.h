#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tercet {

/// What a `tokenizer.json` says, checked: ids are 0 ... n - 1, each used once; every merge names known
/// tokens, no pair merges twice, and all 256 bytes have a token.
struct TokenizerSpec {
  struct Added {
    std::string content;
    int32_t id;
    bool special;
  };
  struct Merge {
    int32_t left, right, result;
  };

  std::string file;                              // for errors
  std::string split_pattern;                     // of the pre-tokenizer, not compiled yet
  std::unordered_map<std::string, int32_t> ids;  // token as the file spells it, added tokens too
  std::vector<std::string> bytes;                // by id: the bytes that the token stands for
  std::array<int32_t, 256> byte_ids;
  std::vector<Merge> merges;  // by rank
  std::vector<Added> added;
};

/// Reads the Hugging Face format as this model family uses it: byte-level BPE, NFC, one split pattern.
/// Anything that would change tokens and is not supported is refused. Throws Error (checkpoint) with `file`,
/// the JSON path, expected and found.
TokenizerSpec parse_tokenizer_json(std::string_view json, const std::string& file);

}  // namespace tercet
