#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace tercet {

/// A fixed set of threads that share loops. The assignment of work is a function of the item count and the
/// thread count alone, so that each thread meets the same data again and runs repeat to the bit. A thread
/// without work spins for some tens of microseconds before it sleeps: loops that follow each other closely
/// cost no wake-ups. One caller at a time, and no loop inside a loop.
class ThreadPool {
 public:
  /// `threads` in all, the caller's among them; 0: as many as the processors this process may run on.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// The first item of `thread`: the items are cut into `threads` runs that differ by one at most, longer
  /// ones first.
  static int64_t first_item(int64_t items, int64_t thread, int64_t threads) {
    return items / threads * thread + (items % threads < thread ? items % threads : thread);
  }

  /// Calls fn(begin, end, thread) once for each thread whose run of 0 ... items - 1 is not empty, with thread
  /// in [0, threads()), and returns when all have returned. Rethrows the exception of the lowest thread that
  /// threw.
  template <class Fn>
  void parallel_for(int64_t items, const Fn& fn) {
    run(
        items,
        [](const void* context, int64_t begin, int64_t end, int thread) {
          (*static_cast<const Fn*>(context))(begin, end, thread);
        },
        &fn);
  }

 private:
  using Call = void (*)(const void* context, int64_t begin, int64_t end, int thread);

  void run(int64_t items, Call call, const void* context);
  void run_share(int thread);
  void work(int thread);

  int threads_;
  std::vector<std::thread> workers_;
  std::vector<std::exception_ptr> failures_;  // one a thread
  Call call_ = nullptr;                       // the loop that runs, published by generation_
  const void* context_ = nullptr;
  int64_t items_ = 0;
  bool running_ = false;
  bool stopping_ = false;
  alignas(64) std::atomic<uint32_t> generation_{0};  // counts loops
  alignas(64) std::atomic<uint32_t> pending_{0};     // workers that have not finished the loop
};

}  // namespace tercet
