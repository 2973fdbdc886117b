#include "tenon/base/thread_pool.h"

#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <set>

namespace tenon {
namespace {

TEST(ThreadPool, CoversEveryElementOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (std::int64_t n : {0, 1, 2, 7, 100, 1001}) {
      for (std::int64_t grain : {1, 3, 64}) {
        std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
        const auto count = [&](std::int64_t from, std::int64_t to) {
          EXPECT_LT(from, to);
          for (; from < to; ++from) hits[static_cast<std::size_t>(from - 10)]++;
        };
        pool.parallel_for(10, 10 + n, grain, count);
        for (auto& h : hits) ASSERT_EQ(h.load(), 1);
        pool.parallel_chunks(10, 10 + n, grain,
                             [&](int, std::int64_t from, std::int64_t to) { count(from, to); });
        for (auto& h : hits) ASSERT_EQ(h.load(), 2);
      }
    }
  }
}

TEST(ThreadPool, PartsDoNotDependOnTiming) {
  ThreadPool pool(4);
  std::set<std::vector<std::array<std::int64_t, 3>>> seen;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::array<std::int64_t, 3>> parts;
    std::mutex mutex;
    pool.parallel_parts(0, 103, 10, [&](int part, std::int64_t from, std::int64_t to) {
      EXPECT_LT(part, 4);
      EXPECT_GE(to - from, 10);
      std::lock_guard lock(mutex);
      parts.push_back({part, from, to});
    });
    std::sort(parts.begin(), parts.end());
    seen.insert(parts);
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  pool.parallel_for(0, 30, 1, [&](std::int64_t from, std::int64_t to) {
    const auto self = std::this_thread::get_id();
    for (; from < to; ++from)
      pool.parallel_for(0, 10, 1, [&](std::int64_t a, std::int64_t b) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        sum += b - a;
      });
  });
  EXPECT_EQ(sum.load(), 300);
}

TEST(ThreadPool, ConcurrentCallersShareTheWorkers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total{0};
  for (int c = 0; c < 24; ++c)  // more callers than slots
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<std::int64_t> out(50, 0);
        pool.parallel_for(0, 50, 1, [&](std::int64_t from, std::int64_t to) {
          for (; from < to; ++from) out[static_cast<std::size_t>(from)] = from;
        });
        total += std::accumulate(out.begin(), out.end(), std::int64_t{0});
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(total.load(), std::int64_t{24} * 200 * 1225);
}

TEST(ThreadPool, WakesAfterSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // past the spin
    std::atomic<int> n{0};
    pool.parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) { n++; });
    ASSERT_EQ(n.load(), 2);
  }
}

TEST(ThreadPool, PoolsComeAndGo) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(3);
    std::atomic<int> n{0};
    if (i % 2) pool.parallel_for(0, 3, 1, [&](std::int64_t, std::int64_t) { n++; });
  }
  EXPECT_GE(usable_processors(), 1);
}

}  // namespace
}  // namespace tenon
