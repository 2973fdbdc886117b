// When each op of a schedule runs: the exact event simulation of one pipeline.
#pragma once

#include <vector>

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

/// How a transfer to another device and the sender's work relate.
enum class SendModel {
  overlapped,  ///< the sender works on; the receiver may start `send` after the op's end
  blocking     ///< the sender waits until the transfer is over
};

struct ScheduleTiming {
  std::vector<std::vector<double>> start;  ///< ms, in the order of Schedule::devices
  std::vector<double> first_start;         ///< ms, for each device
  std::vector<double> last_end;
  /// The longest span from a device's first op to its last, ms: the time from one iteration to the
  /// next when each device takes its optimizer step as soon as its own work is done.
  double makespan = 0;
  double wall = 0;         ///< from the first op anywhere to the last, ms
  double bubble_rate = 0;  ///< 1 - work / (devices * makespan)
};

/// Runs each device's ops in their order, each as soon as what it needs has arrived.
/// Error: `invalid` with the blocked device where the orders wait for each other for ever.
Result<ScheduleTiming> simulate_schedule(const Schedule& schedule,
                                         SendModel model = SendModel::overlapped);

/// The same, for searches: no start times are kept and buffers are reused between calls.
class MakespanSimulator {
 public:
  explicit MakespanSimulator(const Placement& placement, int micro_batches,
                             SendModel model = SendModel::overlapped);
  /// Makespan in ms, or infinity for a deadlock. `starts`, where given, receives the start times.
  double run(const std::vector<std::vector<ScheduledOp>>& devices,
             std::vector<std::vector<double>>* starts = nullptr);
  const std::vector<double>& first_start() const { return first_start_; }
  const std::vector<double>& last_end() const { return free_at_; }
  int blocked_device() const { return blocked_; }

 private:
  struct Source {
    int slot = -1;
    double delay = 0;
  };
  Source source(int chunk, const ScheduledOp& op) const;
  bool advance(int device, const std::vector<ScheduledOp>& ops, std::vector<double>* starts);
  void finish(int device, int chunk, const ScheduledOp& op, double end);

  const Placement& placement_;
  int micro_batches_;
  SendModel model_;
  std::vector<double> done_;  // end of F and of B for each chunk and micro-batch; -1: not yet
  std::vector<double> free_at_, first_start_;
  std::vector<int> next_, ready_;  // position in each device's list; devices to look at again
  std::vector<char> queued_;
  int blocked_ = -1;
};

/// How long one op of a chunk runs, ms.
double duration(const StageTimes& times, Phase phase);

/// All work of a schedule, ms, summed over the devices.
double total_work(const Placement& placement);

}  // namespace tenon::planner
