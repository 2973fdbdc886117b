// The search through the rules of list scheduling for one placement and one memory limit.
#pragma once

#include "tenon/planner/pipeline/list_scheduler.h"

namespace tenon::planner {

struct FoundSchedule {
  double makespan = std::numeric_limits<double>::infinity();  ///< ms
  std::vector<std::vector<ScheduledOp>> devices;
};

/// Runs seeds that are known to do well, then climbs from the best through neighbouring rules until
/// nothing improves, `stop_at` (a lower bound, ms) is met, or `ops_budget` ops have been scheduled.
/// Long iterations are searched on a shorter one, as ramps do not depend on its length; only what
/// comes below `to_beat` ms on the long one is returned.
FoundSchedule search_rules(const Placement& placement, int micro_batches,
                           const std::vector<double>& limits, double weight_share, double stop_at,
                           std::int64_t ops_budget,
                           double to_beat = std::numeric_limits<double>::infinity());

}  // namespace tenon::planner
