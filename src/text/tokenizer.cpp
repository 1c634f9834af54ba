#include "text/tokenizer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "base/error.h"
#include "base/mapped_file.h"
#include "text/unicode.h"

namespace tercet {
namespace {

/// Remembers where the tokens of a word stand in the output, so that a repeated word is a copy. One a call to
/// encode; a later word simply takes the place of an earlier one of the same slot. The words must outlive it.
class WordCache {
 public:
  explicit WordCache(int64_t text_bytes) : slots_(slot_count(text_bytes)) {}

  void encode(const Bpe& bpe, std::string_view word, std::vector<int32_t>& out) {
    Slot& slot = slots_[hash(word) >> (64 - std::countr_zero(slots_.size()))];
    const size_t begin = out.size();
    if (slot.word == word) {
      out.resize(begin + slot.count);
      std::copy_n(out.begin() + slot.begin, slot.count, out.begin() + static_cast<int64_t>(begin));
      return;
    }
    bpe.encode(word, out);
    slot = {word, static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size() - begin)};
  }

 private:
  struct Slot {
    std::string_view word;
    uint32_t begin = 0;
    uint32_t count = 0;
  };

  static uint64_t slot_count(int64_t text_bytes) {
    return std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(text_bytes / 16, 16, 1 << 16)));
  }

  static uint64_t hash(std::string_view word) {
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15U;
    uint64_t mixed = word.size();
    const auto add = [&](uint64_t block) {
      mixed = (mixed ^ block) * kMultiplier;
      mixed ^= mixed >> 32;
    };
    uint64_t block = 0;
    for (; word.size() >= sizeof block; word.remove_prefix(sizeof block)) {
      std::memcpy(&block, word.data(), sizeof block);
      add(block);
    }
    block = 0;
    std::memcpy(&block, word.data(), word.size());
    add(block);
    return mixed * kMultiplier;
  }

  std::vector<Slot> slots_;
};

Bpe make_bpe(const TokenizerSpec& spec) {
  Bpe bpe(spec.byte_ids, static_cast<int64_t>(spec.merges.size()));
  for (const TokenizerSpec::Merge& merge : spec.merges) {
    if (bpe.add_merge(merge.left, merge.right, merge.result)) continue;
    throw Error(
        ErrorKind::kCheckpoint, "model.merges has a pair twice",
        {.file = spec.file,
         .expected = "each pair of tokens at most once",
         .found = "tokens " + std::to_string(merge.left) + " and " + std::to_string(merge.right) + " again"});
  }
  return bpe;
}

}  // namespace

Tokenizer::Tokenizer(TokenizerSpec spec)
    : bpe_(make_bpe(spec)),
      pretokenizer_(spec.split_pattern, spec.file),
      ids_(std::move(spec.ids)),
      bytes_(std::move(spec.bytes)),
      special_(bytes_.size()) {
  for (TokenizerSpec::Added& added : spec.added) {
    special_[added.id] = added.special;
    begins_added_[static_cast<uint8_t>(added.content[0])] = true;
    added_.emplace_back(std::move(added.content), added.id);
  }
  std::sort(added_.begin(), added_.end());
}

Tokenizer Tokenizer::load(const std::string& model_folder) {
  const std::string file = model_folder + "/tokenizer.json";
  const MappedFile mapped(file);
  return parse({reinterpret_cast<const char*>(mapped.data()), static_cast<size_t>(mapped.size())}, file);
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& file) {
  return Tokenizer(parse_tokenizer_json(json, file));
}

Tokenizer::AddedMatch Tokenizer::find_added(std::string_view text, int64_t from) const {
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t begin = from; begin < size; ++begin) {
    if (!begins_added_[static_cast<uint8_t>(text[begin])]) continue;
    // The tokens that share a prefix with the text here are a range of the sorted list, narrowed byte by
    // byte.
    AddedMatch longest{begin, 0, 0};
    auto low = added_.begin();
    auto high = added_.end();
    for (int64_t depth = 0; low != high; ++depth) {
      if (static_cast<int64_t>(low->first.size()) == depth) {
        longest = {begin, depth, low->second};
        ++low;
      }
      if (begin + depth >= size) break;
      const auto at_depth = [&](const auto& token) { return static_cast<uint8_t>(token.first[depth]); };
      const auto byte = static_cast<uint8_t>(text[begin + depth]);
      low = std::partition_point(low, high, [&](const auto& token) { return at_depth(token) < byte; });
      high = std::partition_point(low, high, [&](const auto& token) { return at_depth(token) == byte; });
    }
    if (longest.length > 0) return longest;
  }
  return {size, 0, 0};
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool added_tokens) const {
  if (text.size() > UINT32_MAX / 3) {  // lossy decoding may triple it
    throw Error(ErrorKind::kUsage, "the text is too long to tokenize in one piece; split it",
                {.file = {}, .expected = "at most 1.4 GB", .found = std::to_string(text.size()) + " bytes"});
  }
  std::string repaired;
  if (valid_utf8_length(text) != static_cast<int64_t>(text.size())) {
    repaired = lossy_utf8(text);
    text = repaired;
  }
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3);
  std::deque<std::string> normalized;  // a deque: the cache keeps views of these
  WordCache cache(static_cast<int64_t>(text.size()));
  Pretokenizer::Splitter splitter(pretokenizer_);
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t at = 0; at < size;) {
    const AddedMatch added = added_tokens ? find_added(text, at) : AddedMatch{size, 0, 0};
    splitter.start(nfc(text.substr(at, added.begin - at), normalized.emplace_back()));
    for (std::string_view word; splitter.next(word);) cache.encode(bpe_, word, ids);
    if (added.length > 0) ids.push_back(added.id);
    at = added.begin + added.length;
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!skip_special || !is_special(id)) bytes += token_bytes(id);
  }
  return lossy_utf8(bytes);
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocab_size() && special_[id];
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(bytes_[id]) : std::string_view();
}

}  // namespace tercet
