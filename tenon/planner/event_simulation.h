// A plan priced by events: its pipeline schedule run op by op, on every rank or folded.
#pragma once

#include "tenon/planner/pipeline/rank_simulator.h"
#include "tenon/planner/prediction.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {

struct EventSimulation {
  Prediction prediction;  // as predict(), its pipeline part replaced by the simulated one
  RankReport report;
};

/// What happens on the ranks that the plan does not say: slow ranks and links, failures, jitter.
/// Group size, replicas, gradient exchange and optimizer times are filled in from the plan.
Result<EventSimulation> simulate_events(Pricer& pricer, const Plan& plan, RankSetup setup = {},
                                        TraceWriter* trace = nullptr);

/// The pipeline of a priced plan in the schedules' own terms (milliseconds).
Pipeline pipeline_of(const Plan& plan, const std::vector<StagePrediction>& stages);

/// Whether a schedule has no exact closed form, so that a single prediction is better simulated.
bool needs_events(ScheduleKind kind);

}  // namespace tenon::planner
