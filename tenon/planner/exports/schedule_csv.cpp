#include "tenon/planner/exports/schedule_csv.h"

#include <fmt/format.h>

#include "tenon/planner/event_simulation.h"
#include "tenon/planner/pipeline/generators.h"

namespace tenon::planner {
namespace {

char letter(Phase phase) {
  switch (phase) {
    case Phase::forward: return 'F';
    case Phase::backward_input: return 'I';
    case Phase::backward_weight: return 'W';
    case Phase::backward: return 'B';
  }
  return 'F';
}

/// The number of a chunk along the model.
int stage_number(const Placement& placement, int chunk) {
  int number = 0;
  for (int at = placement.chunks[static_cast<std::size_t>(chunk)].previous; at >= 0;
       at = placement.chunks[static_cast<std::size_t>(at)].previous) {
    ++number;
  }
  return number;
}

}  // namespace

Result<std::string> schedule_csv(Pricer& pricer, const Plan& plan) {
  const Prediction prediction = predict(pricer, plan);
  const Schedule schedule =
      TENON_TRY(make_schedule(plan.schedule, pipeline_of(plan, prediction.per_stage)));
  const Placement& placement = schedule.placement;
  std::string text;
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    std::vector<int> stages;
    for (int chunk : placement.of_device[device]) stages.push_back(stage_number(placement, chunk));
    std::string row;
    for (const ScheduledOp& op : schedule.devices[device]) {
      row +=
          fmt::format("{}{}{}{}", row.empty() ? "" : ",",
                      stages[static_cast<std::size_t>(op.chunk)], letter(op.phase), op.micro_batch);
    }
    text += row + "\n";
  }
  return text;
}

}  // namespace tenon::planner
