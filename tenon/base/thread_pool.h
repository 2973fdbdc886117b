// A fixed pool of threads that splits ranges the same way every time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tenon/base/function_ref.h"

namespace tenon {

/// Processors that this process may use: the affinity mask, cut by the cgroup's CPU quota, at
/// least 1.
int usable_processors();

/// `threads` - 1 workers and the caller. Idle workers spin for a short while, then sleep. A call
/// allocates nothing and takes no lock. Calls from several threads at once are fine: they share the
/// workers. A call from inside a running body runs its parts one after the other on that thread.
/// The parts a range is cut into depend only on the range, the grain and (for `parallel_for`) the
/// number of threads, never on timing; which thread runs a part does. Bodies must not throw.
class ThreadPool {
 public:
  using Body = FunctionRef<void(std::int64_t begin, std::int64_t end)>;
  using PartBody = FunctionRef<void(int part, std::int64_t begin, std::int64_t end)>;

  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `body` on at most `threads()` equal parts of [begin, end), each of at least `grain`
  /// elements, and returns when all are done. With one part the caller runs it at once.
  void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, Body body);
  /// The same, with the number of the part, below `threads()`: for scratch space of each part.
  void parallel_parts(std::int64_t begin, std::int64_t end, std::int64_t grain, PartBody body);
  /// Calls `body` on parts of exactly `grain` elements (the last may be shorter), handed out as
  /// threads become free: for work of uneven cost, and for sums that must not depend on
  /// `threads()`.
  void parallel_chunks(std::int64_t begin, std::int64_t end, std::int64_t grain, PartBody body);

 private:
  struct Job;
  void run(std::int64_t begin, std::int64_t end, std::int64_t parts, std::int64_t grain,
           PartBody body);
  void publish(Job& job, std::int64_t parts);
  bool help(Job& job);
  void worker();
  bool work_once();

  static constexpr int kSlots = 16;  // concurrent callers; a further one works alone
  std::unique_ptr<Job[]> jobs_;
  std::atomic<std::uint32_t> epoch_{0};   // moves when a job is published
  std::atomic<std::uint32_t> asleep_{0};  // workers that sleep on epoch_
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace tenon
