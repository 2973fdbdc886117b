// The published schedules, for any number of stages and micro-batches they are defined for.
#pragma once

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

/// The schedule of one kind. `automatic` is searched for (auto_schedule.h); the memory limits bind
/// only there, peak_activations() says what the others need.
/// Errors: `invalid` where the kind is not defined for these counts, with counts that would do.
Result<Schedule> make_schedule(ScheduleKind kind, const Pipeline& pipeline);

/// Problems of the numbers themselves (counts below one, negative or non-finite times), all of
/// them.
Status check_pipeline(const Pipeline& pipeline);

}  // namespace tenon::planner
