#include "tenon/planner/search/hierarchical.h"

#include <algorithm>

#include "tenon/planner/search/stage_balance.h"

namespace tenon::planner {
namespace {

bool schedule_applies(const Plan& plan, const ScheduleChoice& choice) {
  if (plan.pipeline_parallel == 1)
    return choice.kind == ScheduleKind::one_f_one_b || choice.kind == ScheduleKind::gpipe;
  return true;
}

void set_schedule(Plan& plan, const ScheduleChoice& choice) {
  plan.schedule = choice.kind;
  plan.virtual_stages = choice.virtual_stages;
}

// The first schedule that makes the plan valid; false where none does.
bool set_any_schedule(Plan& plan, const SearchSpace& space, const Evaluator& evaluator) {
  for (const ScheduleChoice& choice : space.schedules) {
    if (!schedule_applies(plan, choice)) continue;
    set_schedule(plan, choice);
    if (why_invalid(plan, evaluator.workload(), evaluator.num_devices()).empty()) return true;
  }
  return false;
}

// Unlike devices want unlike stages. Memory in flight depends on the schedule, so small problems
// are cut for each; large ones once for all schedules.
bool wants_cut(const Evaluator& evaluator, const SearchSpace& space, const Plan& plan) {
  return !evaluator.homogeneous() && plan.pipeline_parallel > 1 && !space.layers_fixed;
}

bool cheap_to_cut(const Evaluator& evaluator, const Plan& plan) {
  return plan.pipeline_parallel * evaluator.workload().blocks.size() <= 400;
}

void through_schedules(Evaluator& evaluator, const SearchSpace& space, Plan plan,
                       std::vector<int> cut) {
  const bool wanted = wants_cut(evaluator, space, plan), again = cheap_to_cut(evaluator, plan);
  for (const ScheduleChoice& choice : space.schedules) {
    if (!schedule_applies(plan, choice)) continue;
    set_schedule(plan, choice);
    evaluator.evaluate(plan);
    if (!wanted || !why_invalid(plan, evaluator.workload(), evaluator.num_devices()).empty())
      continue;
    Plan uneven = plan;
    uneven.layers_per_stage = again ? balanced_layers(plan, evaluator.pricer()) : cut;
    if (!uneven.layers_per_stage.empty()) evaluator.evaluate(uneven);
  }
}

// All of recomputation x ZeRO x schedule for one cell.
void through_cell(Evaluator& evaluator, const SearchSpace& space, const Cell& cell,
                  Offload offload) {
  for (const Recompute recompute : space.recompute) {
    Plan plan = cell.plan;
    plan.recompute = recompute;
    plan.offload = offload;
    // Recomputation adds to the computation whatever else is chosen.
    const double compute = evaluator.evaluate(plan).compute_seconds;
    if (!wants_cut(evaluator, space, plan) && evaluator.hopeless(std::max(cell.compute, compute)))
      continue;
    std::vector<int> cut;
    if (wants_cut(evaluator, space, plan) && !cheap_to_cut(evaluator, plan))
      cut = balanced_layers(plan, evaluator.pricer());
    for (const int zero : space.zero) {
      if (zero > 0 && plan.data_parallel * plan.context_parallel == 1) continue;
      plan.zero_stage = zero;
      through_schedules(evaluator, space, plan, cut);
      if (evaluator.stopped()) return;
    }
  }
}

}  // namespace

std::vector<Cell> coarse_cells(Evaluator& evaluator, const SearchSpace& space) {
  std::vector<Cell> all;
  for (const Mesh& mesh : meshes(space, evaluator.workload(), evaluator.num_devices())) {
    for (const int size : space.micro_batch) {
      if (space.base.global_batch % (std::int64_t{mesh.data} * size) != 0) continue;
      Cell cell{plan_of(space, mesh), 0, 0};
      cell.plan.micro_batch = size;
      cell.plan.recompute = space.recompute.front();
      cell.plan.zero_stage = space.zero.size() > 1 ? space.zero[1] : space.zero.front();
      if (!set_any_schedule(cell.plan, space, evaluator)) continue;
      const Evaluator::Outcome& outcome = evaluator.evaluate(cell.plan);
      if (!outcome.valid) continue;
      cell.compute = outcome.compute_seconds;
      cell.estimate = outcome.value * std::max(1.0, outcome.pressure);
      all.push_back(std::move(cell));
      if (evaluator.stopped()) return all;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Cell& a, const Cell& b) { return a.estimate < b.estimate; });
  return all;
}

void search_cells(Evaluator& evaluator, const SearchSpace& space, const std::vector<Cell>& cells) {
  for (const Offload offload : space.offload) {
    // State on the host is slow: it is looked at only where nothing fits without.
    if (offload != space.offload.front() && evaluator.has_best()) break;
    for (const Cell& cell : cells) {
      if (evaluator.stopped()) return;
      // Computation of an even cut is no bound where stages may be cut to measure.
      if (wants_cut(evaluator, space, cell.plan) || !evaluator.hopeless(cell.compute))
        through_cell(evaluator, space, cell, offload);
    }
  }
}

}  // namespace tenon::planner
