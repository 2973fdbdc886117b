// List scheduling of F, B and W under a memory limit: whenever a device is free, a rule picks what
// it runs.
#pragma once

#include <limits>

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

/// How a free device chooses. Every combination yields a valid schedule; searches try several.
struct ListRules {
  enum class Prefer { backward, forward, alternate };
  Prefer prefer = Prefer::backward;
  /// A weight gradient fills a gap when the next known arrival is at least this share of W away.
  double gap_share = 1.0;
  /// The same once the device has run all its forwards.
  double final_gap_share = 1.0;
  /// A forward waits for a backward that is known to arrive within this share of F.
  double patience = 0;
  /// The same for the first backward of each chunk, which all later ones follow.
  double first_patience = 0;
  /// Weight gradients held back before one goes first: hold_slope * device + hold_base.
  double hold_slope = std::numeric_limits<double>::infinity();
  double hold_base = 0;
  /// Micro-batches in flight on a device, as a multiple of what its round trip needs.
  double flight = std::numeric_limits<double>::infinity();
  /// The same once the device has run a backward.
  double steady_flight = std::numeric_limits<double>::infinity();
  /// The same on the last device; those between follow a straight line.
  double last_steady_flight = std::numeric_limits<double>::infinity();
  /// Memory that forwards of the first chunk leave to the later ones beyond what they must, as a
  /// multiple of what those keep in the steady state.
  double reserve = 0;
  /// Among the chunks of a device, forwards of the later chunk go first.
  bool late_chunk_forward = true;
  /// Among the chunks of a device, backwards of the later chunk go first.
  bool late_chunk_backward = false;
};

struct ListResult {
  double makespan = std::numeric_limits<double>::infinity();  ///< longest span of a device, ms
  std::vector<std::vector<ScheduledOp>> devices;              ///< empty unless finished
  std::int64_t ops = 0;  ///< scheduled before the end or giving up
  bool finished = false;
};

/// One run of the rules. `limits[d]` is what device d may keep, in M_B. Gives up as soon as a
/// device's work and idle time pass `give_up_at` ms; also unfinished where a limit is below
/// least_memory().
ListResult list_schedule(const Placement& placement, int micro_batches,
                         const std::vector<double>& limits, double weight_share,
                         const ListRules& rules,
                         double give_up_at = std::numeric_limits<double>::infinity());

/// The least a device must be allowed to keep for list_schedule() to finish: one micro-batch in
/// each of its chunks, M_B.
double least_memory(const Placement& placement, int device);

/// From the start of F on a chunk to the end of B there, when nothing waits, ms, for each chunk.
std::vector<double> round_trips(const Placement& placement);

}  // namespace tenon::planner
