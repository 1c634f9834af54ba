#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace tercet {
namespace {

TEST(ThreadPool, VisitsEveryItemOnceWithTheSameAssignment) {
  for (int threads = 1; threads <= 5; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t items : {0, 1, 2, 3, 4, 5, 7, 64, 1001}) {
      std::vector<int> owner(static_cast<size_t>(items), -1);
      pool.parallel_for(items, [&](int64_t begin, int64_t end, int thread) {
        ASSERT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i) {
          EXPECT_EQ(owner[static_cast<size_t>(i)], -1);
          owner[static_cast<size_t>(i)] = thread;
        }
      });
      for (int t = 0; t < threads; ++t) {
        const int64_t begin = ThreadPool::first_item(items, t, threads);
        const int64_t end = ThreadPool::first_item(items, t + 1, threads);
        for (int64_t i = begin; i < end; ++i) EXPECT_EQ(owner[static_cast<size_t>(i)], t);
      }
      EXPECT_EQ(ThreadPool::first_item(items, threads, threads), items);
    }
  }
}

TEST(ThreadPool, ManyShortLoopsSeeEachOthersWrites) {
  ThreadPool pool(3);
  std::vector<int64_t> values(100, 0);
  for (int round = 0; round < 20000; ++round) {
    pool.parallel_for(100, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(99 - i)] += i;
    });
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 20000LL * 99 * 100 / 2);
}

TEST(ThreadPool, WakesAfterSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int64_t> sum{0};
    pool.parallel_for(10, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
    EXPECT_EQ(sum, 10);
  }
}

TEST(ThreadPool, TheCallerDoesTheShareOfAThreadThatComesLate) {
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  int late = 0;
  for (int round = 0; round < 100; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the other thread falls asleep
    pool.parallel_for(2, [&](int64_t, int64_t, int thread) {
      if (thread == 1) late += std::this_thread::get_id() == caller ? 1 : 0;
    });
  }
  EXPECT_GT(late, 0);
}

TEST(ThreadPool, NoShareIsDoneTwiceWithMoreThreadsThanProcessors) {
  constexpr int kThreads = 16;
  ThreadPool pool(kThreads);
  std::array<std::atomic<int>, kThreads> inside{};
  int64_t sum[kThreads] = {};
  for (int round = 0; round < 3000; ++round) {
    pool.parallel_for(100, [&](int64_t begin, int64_t end, int thread) {
      const size_t t = static_cast<size_t>(thread);
      EXPECT_EQ(inside[t].fetch_add(1), 0);
      sum[t] += end - begin;
      inside[t].fetch_sub(1);
    });
  }
  EXPECT_EQ(std::accumulate(std::begin(sum), std::end(sum), int64_t{0}), 300000);
}

TEST(ThreadPool, RethrowsTheLowestThreadsExceptionAndGoesOn) {
  ThreadPool pool(4);
  const auto fail = [](int64_t begin, int64_t, int thread) {
    if (begin >= 0 && thread >= 1) throw std::runtime_error(std::to_string(thread));
  };
  try {
    pool.parallel_for(8, fail);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1");
  }
  int64_t items = 0;
  pool.parallel_for(1, [&](int64_t begin, int64_t end, int) { items += end - begin; });
  EXPECT_EQ(items, 1);
}

TEST(ThreadPool, ZeroMeansAllProcessors) {
  EXPECT_GE(ThreadPool(0).threads(), 1);
}

TEST(ThreadPoolDeathTest, RefusesALoopInsideALoop) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadPool pool(2);
        pool.parallel_for(2,
                          [&](int64_t, int64_t, int) { pool.parallel_for(2, [](int64_t, int64_t, int) {}); });
      },
      "running_");
}

}  // namespace
}  // namespace tercet
