// Closed forms of pipeline schedules with unequal stages: time of an iteration and activations in
// flight. The event simulator (pipeline/) gives the exact times these approximate.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/planner/schedule_kind.h"

namespace tenon::planner {

/// One device, one micro-batch (all its chunks). Seconds.
struct DeviceTimes {
  double forward = 0;
  double backward_input = 0;  // recomputation included
  double backward_weight = 0;
  double total() const { return forward + backward_input + backward_weight; }
};

struct PipelineTime {
  double seconds = 0;       // the whole iteration, sends included
  double busy_seconds = 0;  // micro-batches x the slowest device
  double fill_seconds = 0;  // waiting for the first and last micro-batch
  double send_seconds = 0;  // sends that nothing hides
};

/// `send`: until a stage's output is with its neighbour, less what the stack hides.
PipelineTime pipeline_time(ScheduleKind kind, std::span<const DeviceTimes> devices,
                           std::int64_t micro_batches, int chunks, double send);

/// Micro-batches whose activations device `d` of `p` holds at once, in units of all its chunks.
/// `weight_share`: what part of a micro-batch's activations the weight gradient alone still needs.
double micro_batches_in_flight(ScheduleKind kind, int d, int p, std::int64_t micro_batches,
                               int chunks, double weight_share);

}  // namespace tenon::planner
