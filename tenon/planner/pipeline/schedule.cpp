#include "tenon/planner/pipeline/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace tenon::planner {
namespace {

StageTimes share(const StageTimes& stage, int parts) {
  const double n = parts;
  return {stage.forward / n, stage.backward_input / n, stage.backward_weight / n, stage.send,
          stage.activation / n};
}

void append(Placement& placement, Chunk chunk) {
  std::vector<int>& own = placement.of_device[chunk.device];
  chunk.index = static_cast<int>(own.size());
  own.push_back(static_cast<int>(placement.chunks.size()));
  placement.chunks.push_back(chunk);
}

// Links chunks [first, last) as one way through the model.
void link(Placement& placement, int first, int last) {
  for (int k = first; k < last; ++k) {
    placement.chunks[k].previous = k > first ? k - 1 : -1;
    placement.chunks[k].next = k + 1 < last ? k + 1 : -1;
  }
}

// How often each op of one chunk occurs, as bits: F 1, B 2, W 4.
std::vector<std::uint8_t> seen_ops(const Schedule& schedule, int device, int index, bool& twice) {
  std::vector<std::uint8_t> seen(schedule.micro_batches, 0);
  for (const ScheduledOp& op : schedule.devices[device]) {
    if (op.chunk != index || op.micro_batch < 0 || op.micro_batch >= schedule.micro_batches)
      continue;
    constexpr std::uint8_t bits[] = {1, 2, 4, 6};
    const std::uint8_t bit = bits[static_cast<int>(op.phase)];
    twice = twice || (seen[op.micro_batch] & bit) != 0;
    seen[op.micro_batch] |= bit;
  }
  return seen;
}

}  // namespace

std::string_view name(Phase phase) {
  constexpr std::array<std::string_view, 4> names = {"F", "B", "W", "BW"};
  return names[static_cast<int>(phase)];
}

double Pipeline::limit(int device) const {
  if (memory_limits.empty()) return std::numeric_limits<double>::infinity();
  return memory_limits.size() == 1 ? memory_limits[0] : memory_limits[device];
}

Placement looped_placement(const Pipeline& pipeline, int chunks_per_device) {
  const int p = pipeline.devices();
  Placement placement;
  placement.of_device.resize(p);
  for (int k = 0; k < p * chunks_per_device; ++k) {
    append(placement, {.device = k % p,
                       .num_micro_batches = pipeline.micro_batches,
                       .times = share(pipeline.stages[k % p], chunks_per_device)});
  }
  link(placement, 0, p * chunks_per_device);
  return placement;
}

Placement vee_placement(const Pipeline& pipeline) {
  const int p = pipeline.devices();
  Placement placement;
  placement.of_device.resize(p);
  for (int k = 0; k < 2 * p; ++k) {
    const int device = k < p ? k : 2 * p - 1 - k;
    append(placement, {.device = device,
                       .num_micro_batches = pipeline.micro_batches,
                       .times = share(pipeline.stages[device], 2)});
  }
  link(placement, 0, 2 * p);
  return placement;
}

Placement dual_placement(const Pipeline& pipeline) {
  const int p = pipeline.devices(), half = pipeline.micro_batches / 2;
  Placement placement;
  placement.of_device.resize(p);
  for (int k = 0; k < 2 * p; ++k) {
    const bool down = k < p;
    append(placement, {.device = down ? k : 2 * p - 1 - k,
                       .first_micro_batch = down ? 0 : half,
                       .num_micro_batches = half,
                       .times = pipeline.stages[down ? k : k - p]});
  }
  link(placement, 0, p);
  link(placement, p, 2 * p);
  return placement;
}

std::vector<double> peak_activations(const Schedule& schedule, double weight_share) {
  std::vector<double> peaks;
  for (int d = 0; d < schedule.placement.devices(); ++d) {
    // Counts, not a running sum of fractions: a peak of p micro-batches prints as p.
    double peak = 0;
    std::vector<int> whole(schedule.placement.of_device[d].size()), rest(whole.size());
    for (const ScheduledOp& op : schedule.devices[d]) {
      const bool f = op.phase == Phase::forward, b = op.phase == Phase::backward_input;
      whole[op.chunk] += f ? 1 : op.phase == Phase::backward_weight ? 0 : -1;
      rest[op.chunk] += b ? 1 : op.phase == Phase::backward_weight ? -1 : 0;
      double now = 0;
      for (std::size_t c = 0; c < whole.size(); ++c) {
        const double unit = schedule.placement.at(d, static_cast<int>(c)).times.activation;
        now += unit * (whole[c] + weight_share * rest[c]);
      }
      peak = std::max(peak, now);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

Status check_complete(const Schedule& schedule) {
  std::optional<Error> problem;
  for (int d = 0; d < schedule.placement.devices(); ++d) {
    std::size_t expected = 0;
    bool good = true, twice = false;
    for (const int position : schedule.placement.of_device[d]) {
      const Chunk& chunk = schedule.placement.chunks[position];
      const auto seen = seen_ops(schedule, d, chunk.index, twice);
      for (int j = 0; j < chunk.num_micro_batches; ++j)
        good &= seen[chunk.first_micro_batch + j] == 7;
      expected += chunk.num_micro_batches;
    }
    std::size_t forwards = 0;
    for (const ScheduledOp& op : schedule.devices[d]) forwards += op.phase == Phase::forward;
    if (good && !twice && forwards == expected) continue;
    Error found = invalid("device {} does not run F, B and W of each of its micro-batches once", d);
    if (problem)
      problem->others.push_back(std::move(found));
    else
      problem = std::move(found);
  }
  if (problem) return std::move(*problem);
  return {};
}

}  // namespace tenon::planner
