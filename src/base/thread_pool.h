#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace tercet {

/// A fixed set of threads that share loops. A loop is cut into one share a thread by the item count and the
/// thread count alone, so that each thread meets the same data again and runs repeat to the bit. A thread
/// without work spins for some tens of microseconds before it sleeps: loops that follow each other closely
/// cost no wake-ups. A share that its thread has not begun when the caller is done with its own, because
/// other programs hold the processor, is done by the caller. One caller at a time, and no loop inside a loop.
class ThreadPool {
 public:
  /// `threads` in all, the caller's among them; 0: as many as the processors this process may run on. Throws
  /// Error(kDevice) where the system gives fewer.
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
  /// in [0, threads()), and returns when all have returned. No two calls with one `thread` overlap. Rethrows
  /// the exception of the lowest thread that threw.
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

  void stop();
  void run(int64_t items, Call call, const void* context);
  bool claim(int thread, uint32_t loop);
  void run_share(int thread);
  void work(int thread);

  int threads_;
  std::vector<std::thread> workers_;
  std::vector<std::exception_ptr> failures_;  // one a share
  Call call_ = nullptr;                       // the loop that runs, published by generation_
  const void* context_ = nullptr;
  int64_t items_ = 0;
  bool running_ = false;
  std::atomic<bool> stopping_{false};

  struct alignas(64) Claim {
    std::atomic<uint32_t> loop{0};  // the last loop whose share someone has begun
  };
  std::vector<Claim> claims_;                        // one a share
  alignas(64) std::atomic<uint32_t> generation_{0};  // counts loops
  alignas(64) std::atomic<uint32_t> pending_{0};     // shares but the caller's that are not finished
};

}  // namespace tercet
