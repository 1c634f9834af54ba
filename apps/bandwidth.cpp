#include "bandwidth.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/stopwatch.h"
#include "base/thread_pool.h"

namespace tercet {
namespace {

constexpr int kPasses = 8;

/// The most of `bytes` over the seconds of a pass.
template <class Pass>
double best_rate(double bytes, const Pass& pass) {
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    const Stopwatch watch;
    pass();
    best = std::max(best, bytes / watch.seconds());
  }
  return best;
}

}  // namespace

double cpu_read_bandwidth(int threads) {
  constexpr int64_t kWords = int64_t{1} << 26;  // 512 MiB
  ThreadPool pool(threads);
  const auto words = std::make_unique_for_overwrite<uint64_t[]>(static_cast<size_t>(kWords));
  // Each thread touches its own part first, so that it lies near it.
  pool.parallel_for(kWords,
                    [&](int64_t begin, int64_t end, int) { std::fill(&words[begin], &words[end], 1); });
  std::vector<uint64_t> sums(static_cast<size_t>(pool.threads()) * 8);  // a cache line each
  const double rate = best_rate(8.0 * kWords, [&] {
    pool.parallel_for(kWords, [&](int64_t begin, int64_t end, int thread) {
      uint64_t sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += words[i];
      sums[static_cast<size_t>(thread) * 8] += sum;
    });
  });
  // The sums must be looked at, or the reading could be left out.
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  TERCET_CHECK_EQ(total, static_cast<uint64_t>(kWords) * kPasses);
  return rate;
}

double device_bandwidth(Backend& backend) {
  constexpr int64_t kRows = 16384;
  constexpr int64_t kCols = 4096;
  const Buffer buffer = backend.allocate(2 * kRows * kCols * static_cast<int64_t>(sizeof(float)));
  const TensorView x = {buffer.get(), DType::kF32, kRows, kCols};
  const TensorView y = {x.f32() + x.count(), DType::kF32, kRows, kCols};
  return best_rate(3.0 * static_cast<double>(x.bytes()), [&] {
    backend.add(x, y);
    backend.synchronize();
  });
}

}  // namespace tercet
