// Speeds of the simd backend's products, each with its bytes and its share of the read bandwidth that the
// same threads reach in the same run. Usage: simd_bench [threads]

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

#include "backends/simd/simd.h"
#include "base/random.h"
#include "base/thread_pool.h"

namespace tercet {
namespace {

constexpr int64_t kCacheBytes = int64_t{256}
                                << 20;  // more than the caches: what is streamed comes from memory

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_seconds(int64_t runs, const std::function<void(int64_t)>& work) {
  double best = 1e30;
  for (int64_t i = 0; i < runs; ++i) best = std::min(best, seconds([&] { work(i); }));
  return best;
}

struct Bench {
  explicit Bench(int threads) : pool(threads), backend(open_simd_backend({.threads = threads})) {}

  /// Bytes a second that all threads read from memory.
  double read_bandwidth() {
    const int64_t words = int64_t{1} << 27;
    const Buffer memory = backend->allocate(8 * words);
    auto* data = static_cast<uint64_t*>(memory.get());
    pool.parallel_for(words,
                      [&](int64_t begin, int64_t end, int) { std::fill(data + begin, data + end, 1); });
    std::vector<uint64_t> sums(static_cast<size_t>(pool.threads()) * 8);
    const double time = best_seconds(5, [&](int64_t) {
      pool.parallel_for(words, [&](int64_t begin, int64_t end, int thread) {
        uint64_t sum[8] = {};
        for (int64_t i = begin; i + 8 <= end; i += 8) {
          for (int64_t j = 0; j < 8; ++j) sum[j] ^= data[i + j];
        }
        for (size_t j = 0; j < 8; ++j) sums[static_cast<size_t>(thread) * 8 + j] = sum[j];
      });
    });
    return static_cast<double>(8 * words) / time;
  }

  Buffer random_floats(int64_t count) {
    Buffer buffer = backend->allocate(4 * count);
    SplitMix64 random(1);
    auto* values = static_cast<float*>(buffer.get());
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.uniform() - 0.5);
    return buffer;
  }

  void print(const std::string& name, double time, double bytes, double products) {
    fmt::print("{:34} {:9.3f} ms {:7.2f} GB/s {:5.1f} % of read {:8.1f} GMAC/s\n", name, time * 1e3,
               bytes / time / 1e9, 100 * bytes / time / bandwidth, products / time / 1e9);
  }

  void linear(int bits, int64_t n, int64_t k, int64_t rows) {
    const int64_t bytes_each = n * k * bits / 8;
    const int64_t copies = rows == 1 ? std::max<int64_t>(1, kCacheBytes / bytes_each) : 1;
    std::vector<Weight> weights;
    for (int64_t i = 0; i < copies; ++i) {
      weights.push_back(
          backend->prepare_synthetic({.rows = n, .cols = k, .bits = bits, .seed = static_cast<uint64_t>(i)}));
    }
    const Buffer x = random_floats(rows * k);
    const Buffer y = backend->allocate(4 * rows * n);
    const double time = best_seconds(std::max<int64_t>(copies, 5), [&](int64_t i) {
      backend->linear({x.get(), DType::kF32, rows, k}, weights[static_cast<size_t>(i % copies)],
                      {y.get(), DType::kF32, rows, n});
    });
    print(fmt::format("linear {} bits {}x{}, {} rows", bits, n, k, rows), time,
          static_cast<double>(weights[0]->bytes), static_cast<double>(n * k * rows));
  }

  void experts(int bits, int64_t rows) {
    constexpr int64_t kExperts = 256;
    constexpr int64_t kHidden = 2048;
    constexpr int64_t kWidth = 512;
    constexpr int64_t kTopK = 8;
    const Weight gate =
        backend->prepare_synthetic({.count = kExperts, .rows = kWidth, .cols = kHidden, .bits = bits});
    const Weight up =
        backend->prepare_synthetic({.count = kExperts, .rows = kWidth, .cols = kHidden, .bits = bits});
    const Weight down =
        backend->prepare_synthetic({.count = kExperts, .rows = kHidden, .cols = kWidth, .bits = bits});
    const Buffer x = random_floats(rows * kHidden);
    const Buffer y = backend->allocate(4 * rows * kHidden);
    const Buffer share = random_floats(rows * kTopK);
    const Buffer index = backend->allocate(4 * rows * kTopK);
    SplitMix64 random(2);
    std::vector<char> used;
    const double time = best_seconds(rows == 1 ? 40 : 5, [&](int64_t) {
      used.assign(kExperts, 0);
      for (int64_t i = 0; i < rows * kTopK; ++i) {  // odd steps from a random start: no expert twice in a row
        const int64_t start = i % kTopK == 0 ? static_cast<int64_t>(random.below(kExperts)) : 0;
        auto* ids = static_cast<int32_t*>(index.get());
        ids[i] = static_cast<int32_t>((i % kTopK == 0 ? start : ids[i - 1] + 37) % kExperts);
        used[static_cast<size_t>(ids[i])] = 1;
      }
      backend->moe_ffn({x.get(), DType::kF32, rows, kHidden}, {index.get(), DType::kI32, rows, kTopK},
                       {share.get(), DType::kF32, rows, kTopK}, gate, up, down,
                       {y.get(), DType::kF32, rows, kHidden});
    });
    const double experts_used = static_cast<double>(std::count(used.begin(), used.end(), 1));
    print(fmt::format("experts {} bits, {} rows", bits, rows), time,
          experts_used * static_cast<double>(3 * gate->bytes_per_matrix()),
          static_cast<double>(rows * kTopK * 3 * kWidth * kHidden));
  }

  ThreadPool pool;
  std::unique_ptr<Backend> backend;
  double bandwidth = 0;
};

void run(int threads) {
  Bench bench(threads);
  bench.backend->plan(
      {.rows = 512, .logit_rows = 1, .widest = 4096, .top_k = 8, .experts = 256, .expert_width = 512});
  bench.bandwidth = bench.read_bandwidth();
  fmt::print("{}, {} threads, read {:.2f} GB/s\n", bench.backend->description(), bench.pool.threads(),
             bench.bandwidth / 1e9);
  for (const int bits : {16, 8, 4, 3, 2}) bench.linear(bits, 8192, 2048, 1);
  bench.linear(4, 248320, 2048, 1);
  bench.experts(4, 1);
  for (const int bits : {16, 4, 3}) bench.linear(bits, 8192, 2048, 16);
  for (const int bits : {16, 4, 3}) bench.linear(bits, 8192, 2048, 512);
  bench.experts(4, 512);
}

}  // namespace
}  // namespace tercet

int main(int argc, char** argv) {
  tercet::run(argc > 1 ? std::atoi(argv[1]) : 0);
}
