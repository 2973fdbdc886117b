// Iteration times of the published schedules in closed form, for equal stages.
#pragma once

#include <optional>

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

/// Milliseconds of one iteration (dualpipe: of its wall time) with p equal stages, m micro-batches
/// and v chunks a device, where the transfers are short beside the work (schedules.md says how
/// short) and m is at least 2p (1F1B and interleaved: a multiple of p). Zero Bubble Pipeline
/// Parallelism (2023), sections 2 and 3, with the terms in the send time found by fitting its
/// tables 3 to 9. Absent for the searched kinds.
std::optional<double> closed_form_iteration(ScheduleKind kind, int p, int m, int v,
                                            const StageTimes& stage);

}  // namespace tenon::planner
