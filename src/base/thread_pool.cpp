#include "base/thread_pool.h"

#include <sched.h>

#include <chrono>
#include <exception>
#include <string>

#include "base/check.h"
#include "base/error.h"

namespace tercet {
namespace {

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Spins for about a microsecond; whether `done(value)`.
template <class Done>
bool spin(const std::atomic<uint32_t>& value, const Done& done) {
  for (int i = 0; i < 64; ++i) {
    if (done(value.load(std::memory_order_acquire))) return true;
    relax();
  }
  return false;
}

/// Waits until `done(value)`: first spinning, since the next loop usually
/// starts within microseconds, then asleep.
template <class Done>
void wait_until(std::atomic<uint32_t>& value, const Done& done) {
  constexpr auto kSpin = std::chrono::microseconds(40);
  const auto start = std::chrono::steady_clock::now();
  do {
    if (spin(value, done)) return;
  } while (std::chrono::steady_clock::now() - start < kSpin);
  for (uint32_t seen = value.load(std::memory_order_acquire); !done(seen);
       seen = value.load(std::memory_order_acquire)) {
    value.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads == 0 ? available_processors() : threads) {
  TERCET_CHECK_LE(1, threads_);
  failures_.resize(static_cast<size_t>(threads_));
  claims_ = std::vector<Claim>(static_cast<size_t>(threads_));
  workers_.reserve(static_cast<size_t>(threads_ - 1));
  try {
    for (int t = 1; t < threads_; ++t) workers_.emplace_back([this, t] { work(t); });
  } catch (const std::exception& error) {
    stop();
    throw Error(ErrorKind::kDevice, "the system gives no more threads; ask for fewer with --threads",
                {.expected = std::to_string(threads_) + " threads",
                 .found = std::to_string(workers_.size() + 1) + " (" + error.what() + ")"});
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stopping_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t items, Call call, const void* context) {
  if (items <= 0) return;
  if (items == 1 || threads_ == 1) return call(context, 0, items, 0);
  TERCET_CHECK(!running_);
  running_ = true;
  call_ = call;
  context_ = context;
  items_ = items;
  pending_.store(static_cast<uint32_t>(threads_ - 1), std::memory_order_relaxed);
  const uint32_t loop = generation_.fetch_add(1, std::memory_order_release) + 1;
  generation_.notify_all();
  run_share(0);
  const auto finished = [](uint32_t left) { return left == 0; };
  if (!spin(pending_, finished)) {
    for (int t = 1; t < threads_; ++t) {
      if (!claim(t, loop)) continue;
      run_share(t);
      pending_.fetch_sub(1, std::memory_order_acq_rel);
    }
    wait_until(pending_, finished);
  }
  running_ = false;
  std::exception_ptr first;
  for (std::exception_ptr& failure : failures_) {
    if (failure && !first) first = failure;
    failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

/// Whether the share of `loop` is now the caller's to do. A thread that comes late, to a share that is done
/// and perhaps to a loop that is over, gets nothing.
bool ThreadPool::claim(int thread, uint32_t loop) {
  uint32_t before = loop - 1;
  return claims_[static_cast<size_t>(thread)].loop.compare_exchange_strong(before, loop,
                                                                           std::memory_order_acq_rel);
}

void ThreadPool::run_share(int thread) {
  const int64_t begin = first_item(items_, thread, threads_);
  const int64_t end = first_item(items_, thread + 1, threads_);
  if (begin == end) return;
  try {
    call_(context_, begin, end, thread);
  } catch (...) {
    failures_[static_cast<size_t>(thread)] = std::current_exception();
  }
}

void ThreadPool::work(int thread) {
  for (uint32_t loop = 0;;) {
    wait_until(generation_, [loop](uint32_t generation) { return generation != loop; });
    loop = generation_.load(std::memory_order_acquire);
    if (stopping_) return;
    if (!claim(thread, loop)) continue;
    run_share(thread);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace tercet
