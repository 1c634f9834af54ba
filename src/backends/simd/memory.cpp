#include "backends/simd/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/memory_limit.h"

namespace tercet::simd {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kWorthAsking = size_t{64} << 20;

std::atomic<int64_t> promised{0};  // bytes of large blocks, which take memory only when they are touched

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// A mapping of whole huge pages, aligned to them: the mapping is made larger, and what hangs over is given
/// back.
Buffer map_huge(size_t bytes) {
  const size_t size = round_up(bytes, kHugePage);
  if (size >= kWorthAsking) {
    const int64_t untouched = std::max<int64_t>(0, promised.load() - resident_memory());
    require_memory(untouched + static_cast<int64_t>(size));
  }
  void* mapping = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  char* begin = static_cast<char*>(mapping);
  char* aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<size_t>(begin), kHugePage));
  if (aligned != begin) munmap(begin, static_cast<size_t>(aligned - begin));
  if (aligned != begin + kHugePage) munmap(aligned + size, static_cast<size_t>(begin + kHugePage - aligned));
  madvise(aligned, size, MADV_HUGEPAGE);
  promised += static_cast<int64_t>(size);
  return {aligned, [size](void* memory) {
            munmap(memory, size);
            promised -= static_cast<int64_t>(size);
          }};
}

}  // namespace

Buffer allocate_memory(int64_t bytes) {
  const size_t size = round_up(bytes > 0 ? static_cast<size_t>(bytes) : 1, 64);
  if (size >= kHugePage) return map_huge(size);
  void* memory = std::aligned_alloc(64, size);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return {memory, std::free};
}

}  // namespace tercet::simd
