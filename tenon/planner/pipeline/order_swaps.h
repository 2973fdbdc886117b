// Small pipelines: improve a schedule by exchanging neighbouring ops.
#pragma once

#include "tenon/planner/pipeline/rule_search.h"

namespace tenon::planner {

/// Exchanges neighbours on one device, and moves weight gradients further, as long as the memory
/// holds and the makespan (then the sum of the spans) falls. Stops at `stop_at` ms or when
/// `ops_budget` simulated ops are spent.
void improve_by_swaps(FoundSchedule& found, const Placement& placement, int micro_batches,
                      const std::vector<double>& limits, double weight_share, double stop_at,
                      std::int64_t ops_budget);

}  // namespace tenon::planner
