#include "tenon/planner/pipeline/timing.h"

#include <algorithm>
#include <limits>

namespace tenon::planner {
double duration(const StageTimes& times, Phase phase) {
  switch (phase) {
    case Phase::forward: return times.forward;
    case Phase::backward_input: return times.backward_input;
    case Phase::backward_weight: return times.backward_weight;
    case Phase::backward: return times.backward_input + times.backward_weight;
  }
  return 0;
}

MakespanSimulator::MakespanSimulator(const Placement& placement, int micro_batches, SendModel model)
    : placement_(placement),
      micro_batches_(micro_batches),
      model_(model),
      done_(2 * placement.chunks.size() * micro_batches),
      free_at_(placement.devices()),
      first_start_(placement.devices()),
      next_(placement.devices()),
      queued_(placement.devices()) {}

// Which result an op waits for (a slot of done_) and how long that travels.
MakespanSimulator::Source MakespanSimulator::source(int chunk, const ScheduledOp& op) const {
  const Chunk& own = placement_.chunks[chunk];
  const auto slot = [&](int c, bool backward) {
    return (2 * c + backward) * micro_batches_ + op.micro_batch;
  };
  const auto travel = [&](int from) {
    const Chunk& other = placement_.chunks[from];
    // A blocking sender has already spent the time of the transfer.
    return other.device == own.device || model_ == SendModel::blocking ? 0.0 : other.times.send;
  };
  switch (op.phase) {
    case Phase::forward:
      if (own.previous < 0) return {};
      return {slot(own.previous, false), travel(own.previous)};
    case Phase::backward_weight: return {slot(chunk, true), 0};
    case Phase::backward_input:
    case Phase::backward: break;
  }
  if (own.next < 0) return {slot(chunk, false), 0};
  return {slot(own.next, true), travel(own.next)};
}

void MakespanSimulator::finish(int device, int chunk, const ScheduledOp& op, double end) {
  free_at_[device] = end;
  if (op.phase == Phase::backward_weight) return;
  const bool backward = op.phase != Phase::forward;
  const Chunk& own = placement_.chunks[chunk];
  const int consumer = backward ? own.previous : own.next;
  if (consumer >= 0) {
    const int other = placement_.chunks[consumer].device;
    if (other != device) {
      if (model_ == SendModel::blocking) free_at_[device] = end = end + own.times.send;
      if (!queued_[other]) {
        queued_[other] = 1;
        ready_.push_back(other);
      }
    }
  }
  done_[(2 * chunk + backward) * micro_batches_ + op.micro_batch] = end;
}

// Runs one device until it must wait; true when its list is done.
bool MakespanSimulator::advance(int device, const std::vector<ScheduledOp>& ops,
                                std::vector<double>* starts) {
  for (int& i = next_[device]; i < static_cast<int>(ops.size()); ++i) {
    const ScheduledOp& op = ops[i];
    const int chunk = placement_.of_device[device][op.chunk];
    const Source needed = source(chunk, op);
    double begin = free_at_[device];
    if (needed.slot >= 0) {
      if (done_[needed.slot] < 0) return false;
      begin = std::max(begin, done_[needed.slot] + needed.delay);
    }
    if (i == 0) first_start_[device] = begin;
    if (starts) (*starts)[i] = begin;
    finish(device, chunk, op, begin + duration(placement_.chunks[chunk].times, op.phase));
  }
  return true;
}

double MakespanSimulator::run(const std::vector<std::vector<ScheduledOp>>& devices,
                              std::vector<std::vector<double>>* starts) {
  const int p = placement_.devices();
  std::fill(done_.begin(), done_.end(), -1.0);
  std::fill(free_at_.begin(), free_at_.end(), 0.0);
  std::fill(first_start_.begin(), first_start_.end(), 0.0);
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(queued_.begin(), queued_.end(), 1);
  ready_.clear();
  for (int d = p - 1; d >= 0; --d) ready_.push_back(d);
  while (!ready_.empty()) {
    const int d = ready_.back();
    ready_.pop_back();
    queued_[d] = 0;
    advance(d, devices[d], starts ? &(*starts)[d] : nullptr);
  }
  double longest = 0;
  blocked_ = -1;
  for (int d = 0; d < p && blocked_ < 0; ++d) {
    if (next_[d] < static_cast<int>(devices[d].size())) blocked_ = d;
    longest = std::max(longest, free_at_[d] - first_start_[d]);
  }
  return blocked_ < 0 ? longest : std::numeric_limits<double>::infinity();
}

double total_work(const Placement& placement) {
  double work = 0;
  for (const Chunk& chunk : placement.chunks) work += chunk.num_micro_batches * chunk.times.work();
  return work;
}

Result<ScheduleTiming> simulate_schedule(const Schedule& schedule, SendModel model) {
  ScheduleTiming timing;
  for (const auto& ops : schedule.devices) timing.start.emplace_back(ops.size());
  MakespanSimulator simulator(schedule.placement, schedule.micro_batches, model);
  timing.makespan = simulator.run(schedule.devices, &timing.start);
  if (const int d = simulator.blocked_device(); d >= 0) {
    return invalid("the orders of the devices wait for each other, first on device {}", d);
  }
  timing.first_start = simulator.first_start();
  timing.last_end = simulator.last_end();
  timing.wall = *std::max_element(timing.last_end.begin(), timing.last_end.end()) -
                *std::min_element(timing.first_start.begin(), timing.first_start.end());
  const double area = schedule.placement.devices() * timing.makespan;
  // Rounding must not turn a pipeline without idle time into one with less than none.
  timing.bubble_rate = area > 0 ? std::max(0.0, 1 - total_work(schedule.placement) / area) : 0;
  return timing;
}

}  // namespace tenon::planner
