#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

#include "base/check.h"

namespace tercet {
namespace {

constexpr int64_t kShortWord = 48;  // bytes up to which a scan for the best pair beats a heap

}  // namespace

Bpe::Bpe(const std::array<int32_t, 256>& byte_ids, int64_t merges) : byte_ids_(byte_ids) {
  const uint64_t size = std::bit_ceil(static_cast<uint64_t>(2 * merges + 2));
  table_.resize(size);
  shift_ = 64 - std::countr_zero(size);
}

uint64_t Bpe::pair_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

uint64_t Bpe::slot_of(uint64_t pair) const {
  const uint64_t mixed = (pair ^ (pair >> 29)) * 0x9e3779b97f4a7c15U;
  uint64_t slot = mixed >> shift_;
  while (table_[slot].rank != kNoRank && table_[slot].pair != pair) slot = (slot + 1) & (table_.size() - 1);
  return slot;
}

const Bpe::Merge& Bpe::find(int32_t left, int32_t right) const {
  return table_[slot_of(pair_of(left, right))];
}

bool Bpe::add_merge(int32_t left, int32_t right, int32_t result) {
  const uint64_t pair = pair_of(left, right);
  Merge& merge = table_[slot_of(pair)];
  if (merge.rank != kNoRank) return false;
  TERCET_CHECK_LT(2 * static_cast<uint64_t>(merges_), table_.size());
  merge = {pair, merges_++, result};
  return true;
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& out) const {
  if (static_cast<int64_t>(word.size()) <= kShortWord) {
    encode_short(word, out);
  } else {
    encode_long(word, out);
  }
}

void Bpe::encode_short(std::string_view word, std::vector<int32_t>& out) const {
  int32_t ids[kShortWord];
  const Merge* pairs[kShortWord];  // pairs[i] joins ids[i] and ids[i + 1]
  auto count = static_cast<int64_t>(word.size());
  for (int64_t i = 0; i < count; ++i) ids[i] = byte_ids_[static_cast<uint8_t>(word[i])];
  for (int64_t i = 0; i + 1 < count; ++i) pairs[i] = &find(ids[i], ids[i + 1]);
  while (count > 1) {
    int64_t best = 0;
    for (int64_t i = 1; i + 1 < count; ++i) {
      if (pairs[i]->rank < pairs[best]->rank) best = i;
    }
    if (pairs[best]->rank == kNoRank) break;
    ids[best] = pairs[best]->result;
    --count;
    std::copy(ids + best + 2, ids + count + 1, ids + best + 1);
    std::copy(pairs + best + 1, pairs + count, pairs + best);
    if (best + 1 < count) pairs[best] = &find(ids[best], ids[best + 1]);
    if (best > 0) pairs[best - 1] = &find(ids[best - 1], ids[best]);
  }
  out.insert(out.end(), ids, ids + count);
}

void Bpe::encode_long(std::string_view word, std::vector<int32_t>& out) const {
  struct Symbol {
    int32_t id;  // -1 once merged into the symbol before it
    uint32_t previous;
    uint32_t next;
  };
  TERCET_CHECK_LT(word.size(), UINT32_MAX);
  const auto count = static_cast<uint32_t>(word.size());
  std::vector<Symbol> symbols(count);
  for (uint32_t i = 0; i < count; ++i) symbols[i] = {byte_ids_[static_cast<uint8_t>(word[i])], i - 1, i + 1};

  // Rank, then position of the left symbol. An entry is stale unless the pair there still has that rank: a
  // rank names one pair, so that nothing else need be kept.
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue;
  const auto offer = [&](uint32_t left) {
    const uint32_t rank = find(symbols[left].id, symbols[symbols[left].next].id).rank;
    if (rank != kNoRank) queue.push((static_cast<uint64_t>(rank) << 32) | left);
  };
  for (uint32_t i = 0; i + 1 < count; ++i) offer(i);
  while (!queue.empty()) {
    const auto rank = static_cast<uint32_t>(queue.top() >> 32);
    const auto left = static_cast<uint32_t>(queue.top());
    queue.pop();
    Symbol& symbol = symbols[left];
    if (symbol.id < 0 || symbol.next >= count) continue;
    Symbol& right = symbols[symbol.next];
    const Merge& merge = find(symbol.id, right.id);
    if (merge.rank != rank) continue;
    symbol.id = merge.result;
    symbol.next = right.next;
    right.id = -1;
    if (symbol.next < count) {
      symbols[symbol.next].previous = left;
      offer(left);
    }
    if (left > 0) offer(symbol.previous);
  }
  for (uint32_t i = 0; i < count; i = symbols[i].next) out.push_back(symbols[i].id);
}

}  // namespace tercet
