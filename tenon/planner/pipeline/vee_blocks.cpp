#include "tenon/planner/pipeline/vee_blocks.h"

#include <algorithm>
#include <array>
#include <deque>

#include "tenon/base/error.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {
namespace {

constexpr int period = 6;  // F, B and W of two chunks

struct Pass {
  int slot = 0;
  Phase phase = Phase::forward;
  int chunk = 0;
};

// First slots of the four passes of micro-batch 0 on device d; `wait` are slots lost at the three
// turns.
std::array<Pass, 4> passes(int p, int d, BlockPace pace, const std::array<int, 3>& wait) {
  const int up = p - 1 - d;
  const int f_turn = pace.forward_down * (p - 1) + 1 + wait[0];
  const int b_start = f_turn + pace.forward_up * (p - 1) + 1 + wait[1];
  const int b_turn = b_start + pace.backward_down * (p - 1) + 1 + wait[2];
  return {Pass{pace.forward_down * d, Phase::forward, 0},
          Pass{f_turn + pace.forward_up * up, Phase::forward, 1},
          Pass{b_start + pace.backward_down * d, Phase::backward_input, 1},
          Pass{b_turn + pace.backward_up * up, Phase::backward_input, 0}};
}

// Blocks repeat every `period` slots: two passes of a device must not meet modulo that.
bool collide(int p, BlockPace pace, const std::array<int, 3>& wait) {
  for (int d = 0; d < p; ++d) {
    int taken = 0;
    for (const Pass& pass : passes(p, d, pace, wait)) {
      const int bit = 1 << (pass.slot % period);
      if (taken & bit) return true;
      taken |= bit;
    }
  }
  return false;
}

// The fewest lost slots at the turns that keep the passes apart.
std::array<int, 3> waits(int p, BlockPace pace) {
  for (int total = 0; total < 3 * period; ++total) {
    for (int a = 0; a <= total; ++a) {
      for (int b = 0; a + b <= total; ++b) {
        const std::array<int, 3> wait = {a, b, total - a - b};
        if (!collide(p, pace, wait)) return wait;
      }
    }
  }
  return {-1, -1, -1};
}

// Passes of all micro-batches in the order of their slots, with W wherever a slot is free.
std::vector<ScheduledOp> device_order(std::array<Pass, 4> first, int micro_batches) {
  std::vector<std::pair<int, ScheduledOp>> timed;
  for (int j = 0; j < micro_batches; ++j) {
    for (const Pass& pass : first) {
      timed.push_back(
          {pass.slot + period * j, {j, static_cast<std::int16_t>(pass.chunk), pass.phase}});
    }
  }
  std::sort(timed.begin(), timed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ScheduledOp> ops;
  std::deque<ScheduledOp> waiting;
  int slot = 0;
  for (const auto& [at, op] : timed) {
    for (; slot < at; ++slot) {
      if (waiting.empty()) continue;
      ops.push_back(waiting.front());
      waiting.pop_front();
    }
    ops.push_back(op);
    slot = at + 1;
    if (op.phase == Phase::backward_input)
      waiting.push_back({op.micro_batch, op.chunk, Phase::backward_weight});
  }
  ops.insert(ops.end(), waiting.begin(), waiting.end());
  return ops;
}

}  // namespace

std::vector<std::vector<ScheduledOp>> repeated_blocks(int devices, int micro_batches,
                                                      BlockPace pace) {
  const std::array<int, 3> wait = waits(devices, pace);
  TENON_CHECK(wait[0] >= 0, "no block of passes for {} devices", devices);
  std::vector<std::vector<ScheduledOp>> orders;
  for (int d = 0; d < devices; ++d)
    orders.push_back(device_order(passes(devices, d, pace, wait), micro_batches));
  return orders;
}

void consider_blocks(FoundSchedule& best, const Placement& vee, int micro_batches,
                     const std::vector<double>& limits, double weight_share, BlockPace pace) {
  Schedule schedule{ScheduleKind::v_min, micro_batches, vee,
                    repeated_blocks(vee.devices(), micro_batches, pace)};
  const std::vector<double> peaks = peak_activations(schedule, weight_share);
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    if (peaks[d] > limits[d] + 1e-9) return;
  }
  MakespanSimulator simulator(vee, micro_batches);
  const double makespan = simulator.run(schedule.devices);
  if (makespan < best.makespan - 1e-9) best = {makespan, std::move(schedule.devices)};
}

}  // namespace tenon::planner
