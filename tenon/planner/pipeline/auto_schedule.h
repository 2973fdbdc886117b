// Our own zero-bubble schedule: searched for the given stage times under a memory limit.
#pragma once

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

struct AutoScheduleOptions {
  /// Work allowed for one memory step, in scheduled ops (about 0.1 microseconds each). Counted, not
  /// timed, so that the same pipeline always gets the same schedule.
  std::int64_t ops_budget = 450'000;
};

/// Tries the plain and the V-shaped placement (`virtual_stages` 0; 1 and 2 hold it to one of them),
/// list scheduling under many rules with a climb through the rules, the published schedules that
/// fit, and swaps of neighbouring ops where the pipeline is small. The makespan never rises with
/// the limit: a limit common to all devices is rounded down to memory_steps() and every lower step
/// within a factor of three is tried too. Errors: `invalid` where a limit cannot hold one
/// micro-batch, with the least that would do.
Result<Schedule> auto_schedule(const Pipeline& pipeline, const AutoScheduleOptions& options = {});

}  // namespace tenon::planner
