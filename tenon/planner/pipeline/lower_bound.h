// What no schedule can beat, and the memory limits worth telling apart.
#pragma once

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

/// No schedule of `placement` under these limits has a smaller makespan, ms: work of the busiest
/// device; first F and last B through the farthest device; memory held times time (Little's law).
double makespan_lower_bound(const Placement& placement, int micro_batches,
                            const std::vector<double>& limits, double weight_share);

/// The limits that auto_schedule() tells apart, ascending up to `limit`: four an octave (1, 1.5,
/// 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, ...) and p/2, p, 2p for p stages.
std::vector<double> memory_steps(int stages, double limit);

}  // namespace tenon::planner
