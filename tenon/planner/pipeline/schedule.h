// What a pipeline schedule is: stages with times, where their chunks lie, and the order of work on
// each device.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/schedule_kind.h"

namespace tenon::planner {

/// What one micro-batch costs on one stage. Times in milliseconds.
struct StageTimes {
  double forward = 0;
  double backward_input = 0;   ///< gradient of the stage's input (B)
  double backward_weight = 0;  ///< gradient of its weights (W)
  double send = 0;        ///< until the stage's output is with the neighbour; overlaps with work
  double activation = 1;  ///< what one micro-batch keeps, in units of M_B

  double work() const { return forward + backward_input + backward_weight; }
};

/// The share of a micro-batch's activations that stays until W: what W needs of them and the
/// gradients it waits for, 32h / (34h + 5as) of a transformer layer without recomputation, here at
/// s = 2048 and heads of 128.
inline constexpr double default_weight_share = 32.0 / 114.0;

/// One pipeline to be scheduled.
struct Pipeline {
  int micro_batches = 0;
  int virtual_stages = 1;          ///< chunks a device holds (interleaved; 0: the planner's choice)
  std::vector<StageTimes> stages;  ///< one for each device, the sum over its chunks
  std::vector<double> memory_limits;  ///< in M_B: empty (none), one for all, or one for each device
  double weight_share = default_weight_share;

  int devices() const { return static_cast<int>(stages.size()); }
  double limit(int device) const;  ///< infinity where there is none
};

/// F, B, W, and BW where B and W run as one.
enum class Phase : std::uint8_t { forward, backward_input, backward_weight, backward };
std::string_view name(Phase phase);  // "F", "B", "W", "BW"

struct ScheduledOp {
  std::int32_t micro_batch = 0;
  std::int16_t chunk = 0;  ///< which of the device's chunks
  Phase phase = Phase::forward;

  bool operator==(const ScheduledOp&) const = default;
};

/// A stretch of layers on one device, linked to its neighbours in the order of the forward pass.
struct Chunk {
  int device = 0;
  int index = 0;      ///< among the device's chunks
  int previous = -1;  ///< position in Placement::chunks, -1 at the ends
  int next = -1;
  int first_micro_batch = 0;
  int num_micro_batches = 0;
  StageTimes times;
};

/// Where the chunks of a model lie.
struct Placement {
  std::vector<Chunk> chunks;
  std::vector<std::vector<int>> of_device;  ///< device -> its chunks, as positions in `chunks`

  int devices() const { return static_cast<int>(of_device.size()); }
  const Chunk& at(int device, int index) const { return chunks[of_device[device][index]]; }
};

/// Chunk c of device d is stretch c*p + d of the model (v = 1: the plain pipeline).
Placement looped_placement(const Pipeline& pipeline, int chunks_per_device);
/// Two chunks a device: stretch d on the way down, 2p-1-d on the way up.
Placement vee_placement(const Pipeline& pipeline);
/// Two copies of the model in opposite directions; even micro-batches go down, odd ones up,
/// numbered so that the first half of the numbers goes down. Needs an even number of micro-batches.
Placement dual_placement(const Pipeline& pipeline);

/// The order of work on each device; when it runs follows from simulate_schedule().
struct Schedule {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  int micro_batches = 0;
  Placement placement;
  std::vector<std::vector<ScheduledOp>> devices;
};

/// Peak of the activations each device keeps, in M_B: all from F on, `weight_share` of it from B to
/// W.
std::vector<double> peak_activations(const Schedule& schedule, double weight_share);

/// Every op of every chunk exactly once, and nothing else. Lists all devices that break it.
Status check_complete(const Schedule& schedule);

}  // namespace tenon::planner
