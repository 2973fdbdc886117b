// Jobs live in fixed slots; a part is claimed by one compare-and-swap on the slot's ticket.
#include "tenon/base/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/base/file.h"

namespace tenon {
namespace {

// About 20 microseconds of pause instructions: longer than the gap between two operators of a
// running graph, shorter than what a sleeping thread costs to wake.
constexpr int kSpins = 600;
constexpr std::uint32_t kMaxParts = 0xffff;

thread_local bool inside_body = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr,
            nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word, int count) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
            nullptr, 0);
}

// cgroup v2: "max 100000" or "150000 100000".
int quota_processors() {
  const auto text = read_file("/sys/fs/cgroup/cpu.max", 4096);
  long quota = 0, period = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%ld %ld", &quota, &period) != 2 || quota <= 0 ||
      period <= 0)
    return std::numeric_limits<int>::max();
  return static_cast<int>(std::max(1L, (quota + period - 1) / period));
}

}  // namespace

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int by_mask = sched_getaffinity(0, sizeof set, &set) == 0
                          ? CPU_COUNT(&set)
                          : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(by_mask, quota_processors()));
}

// A ticket holds generation (32 bits), next part (16) and number of parts (16). A worker claims a
// part by moving `next` with a compare-and-swap; from then until it lowers `pending` the caller
// cannot return, so `body` and the range stay valid. The generation keeps a slow worker from
// claiming a part of a later job with the numbers of an earlier one.
struct alignas(64) ThreadPool::Job {
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<std::uint32_t> pending{0};
  std::atomic<bool> taken{false};
  std::int64_t begin = 0, end = 0, grain = 0;  // grain 0: equal parts
  const PartBody* body = nullptr;

  void call(std::int64_t part, std::int64_t parts) const {
    const std::int64_t n = end - begin;
    std::int64_t from = begin + part * grain, to = std::min(end, begin + part * grain + grain);
    if (grain == 0) {
      const std::int64_t each = n / parts, longer = n % parts;
      from = begin + part * each + std::min(part, longer);
      to = from + each + (part < longer);
    }
    (*body)(static_cast<int>(part), from, to);
  }
};

ThreadPool::ThreadPool(int threads) : jobs_(std::make_unique<Job[]>(kSlots)) {
  TENON_CHECK(threads >= 1, "a pool of {} threads", threads);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker(); });
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  wake(epoch_, std::numeric_limits<int>::max());
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, Body body) {
  parallel_parts(begin, end, grain,
                 [&](int, std::int64_t from, std::int64_t to) { body(from, to); });
}

void ThreadPool::parallel_parts(std::int64_t begin, std::int64_t end, std::int64_t grain,
                                PartBody body) {
  if (end <= begin) return;
  const std::int64_t most =
      std::max<std::int64_t>(1, (end - begin) / std::max<std::int64_t>(grain, 1));
  run(begin, end, std::min<std::int64_t>({most, threads(), kMaxParts}), 0, body);
}

void ThreadPool::parallel_chunks(std::int64_t begin, std::int64_t end, std::int64_t grain,
                                 PartBody body) {
  if (end <= begin) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t parts = (end - begin - 1) / grain + 1;
  TENON_CHECK(parts <= kMaxParts, "{} chunks in one call; use a larger grain", parts);
  run(begin, end, parts, grain, body);
}

void ThreadPool::run(std::int64_t begin, std::int64_t end, std::int64_t parts, std::int64_t grain,
                     PartBody body) {
  Job* job = nullptr;
  if (parts > 1 && !inside_body && !workers_.empty()) {
    for (int i = 0; i < kSlots && !job; ++i)
      if (!jobs_[i].taken.load(std::memory_order_relaxed) &&
          !jobs_[i].taken.exchange(true, std::memory_order_acquire))
        job = &jobs_[i];
  }
  if (!job) {  // one part, a nested call, or too many callers
    Job alone;
    alone.begin = begin, alone.end = end, alone.grain = grain, alone.body = &body;
    const bool outer = std::exchange(inside_body, true);
    for (std::int64_t part = 0; part < parts; ++part) alone.call(part, parts);
    inside_body = outer;
    return;
  }
  job->begin = begin, job->end = end, job->grain = grain, job->body = &body;
  publish(*job, parts);
  inside_body = true;
  while (help(*job)) {
  }
  inside_body = false;
  int spins = 0;
  for (std::uint32_t left; (left = job->pending.load(std::memory_order_acquire)) != 0;) {
    if (++spins < kSpins)
      relax();
    else
      sleep_while(job->pending, left);
  }
  job->taken.store(false, std::memory_order_release);
}

void ThreadPool::publish(Job& job, std::int64_t parts) {
  job.pending.store(static_cast<std::uint32_t>(parts), std::memory_order_relaxed);
  const std::uint64_t generation = (job.ticket.load(std::memory_order_relaxed) >> 32) + 1;
  job.ticket.store(generation << 32 | static_cast<std::uint64_t>(parts), std::memory_order_release);
  // Sequentially consistent against `asleep_` in worker(): either the worker sees the new epoch or
  // this thread sees the sleeper.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) wake(epoch_, static_cast<int>(parts) - 1);
}

bool ThreadPool::help(Job& job) {
  std::uint64_t ticket = job.ticket.load(std::memory_order_acquire);
  while (true) {
    const std::uint32_t parts = ticket & 0xffff, next = ticket >> 16 & 0xffff;
    if (next >= parts) return false;
    if (!job.ticket.compare_exchange_weak(ticket, ticket + (1 << 16), std::memory_order_acq_rel))
      continue;
    job.call(next, parts);
    // The last one wakes the caller, which may sleep; the slot itself outlives the call.
    if (job.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) wake(job.pending, 1);
    return true;
  }
}

bool ThreadPool::work_once() {
  bool worked = false;
  for (int i = 0; i < kSlots; ++i)
    while (help(jobs_[i])) worked = true;
  return worked;
}

void ThreadPool::worker() {
  inside_body = true;  // a body that calls the pool again runs inline
  int spins = 0;
  while (true) {
    const std::uint32_t seen = epoch_.load(std::memory_order_seq_cst);
    if (stopping_.load(std::memory_order_acquire)) return;
    if (work_once()) {
      spins = 0;
      continue;
    }
    if (++spins < kSpins) {
      relax();
      continue;
    }
    asleep_.fetch_add(1, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) == seen) sleep_while(epoch_, seen);
    asleep_.fetch_sub(1, std::memory_order_seq_cst);
    spins = 0;
  }
}

}  // namespace tenon
