#include "tenon/planner/pipeline/auto_schedule.h"

#include <algorithm>
#include <cmath>

#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/lower_bound.h"
#include "tenon/planner/pipeline/order_swaps.h"
#include "tenon/planner/pipeline/rule_search.h"
#include "tenon/planner/pipeline/timing.h"
#include "tenon/planner/pipeline/vee_blocks.h"

namespace tenon::planner {
namespace {

// A placement with the best order found for it so far.
struct Contest {
  Placement placement;
  FoundSchedule best;
  double floor = 0;  // lower bound under the largest limit
};

// B and W apart, so that a published schedule can be compared and improved.
std::vector<std::vector<ScheduledOp>> split_backwards(
    const std::vector<std::vector<ScheduledOp>>& devices) {
  std::vector<std::vector<ScheduledOp>> split;
  for (const auto& ops : devices) {
    auto& out = split.emplace_back();
    for (ScheduledOp op : ops) {
      const bool both = op.phase == Phase::backward;
      if (both) op.phase = Phase::backward_input;
      out.push_back(op);
      if (!both) continue;
      op.phase = Phase::backward_weight;
      out.push_back(op);
    }
  }
  return split;
}

bool fits(const std::vector<double>& peaks, const std::vector<double>& limits) {
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    if (peaks[d] > limits[d] + 1e-9) return false;
  }
  return true;
}

// The published schedules on the plain placement, where they fit.
void consider_published(Contest& contest, const Pipeline& pipeline,
                        const std::vector<double>& limits) {
  MakespanSimulator simulator(contest.placement, pipeline.micro_batches);
  for (const ScheduleKind kind :
       {ScheduleKind::one_f_one_b, ScheduleKind::zb_h1, ScheduleKind::zb_h2}) {
    Result<Schedule> made = make_schedule(kind, pipeline);
    if (!made.ok()) continue;
    made->devices = split_backwards(made->devices);
    if (!fits(peak_activations(*made, pipeline.weight_share), limits)) continue;
    const double makespan = simulator.run(made->devices);
    if (makespan < contest.best.makespan - 1e-9)
      contest.best = {makespan, std::move(made->devices)};
  }
}

void compete(Contest& contest, const Pipeline& pipeline, const std::vector<double>& limits,
             std::int64_t budget) {
  const int m = pipeline.micro_batches;
  const double bound = makespan_lower_bound(contest.placement, m, limits, pipeline.weight_share);
  FoundSchedule found = search_rules(contest.placement, m, limits, pipeline.weight_share, bound,
                                     budget, contest.best.makespan);
  if (found.makespan < contest.best.makespan - 1e-9) contest.best = std::move(found);
  if (contest.placement.of_device[0].size() == 1) {
    consider_published(contest, pipeline, limits);
  } else {
    for (const BlockPace pace :
         {v_min_pace, v_half_pace, BlockPace{2, 2, 2, 2}, BlockPace{4, 2, 4, 2}}) {
      consider_blocks(contest.best, contest.placement, m, limits, pipeline.weight_share, pace);
    }
  }
  constexpr std::int64_t small = 1500;  // ops; beyond that a swap costs too much for what it gains
  const std::int64_t ops = 3 * static_cast<std::int64_t>(contest.placement.chunks.size()) * m;
  if (ops <= small) {
    improve_by_swaps(contest.best, contest.placement, m, limits, pipeline.weight_share, bound,
                     2 * budget);
  }
}

std::vector<Contest> contests(const Pipeline& pipeline) {
  std::vector<Contest> all;
  if (pipeline.virtual_stages != 2) all.push_back({looped_placement(pipeline, 1), {}, 0});
  if (pipeline.virtual_stages != 1) all.push_back({vee_placement(pipeline), {}, 0});
  return all;
}

// Limits for each device in turn, the largest last. Beyond all micro-batches more is not needed.
std::vector<std::vector<double>> limit_steps(const Pipeline& pipeline) {
  const int p = pipeline.devices();
  if (pipeline.memory_limits.size() > 1) return {pipeline.memory_limits};
  double most = 0, least = 0;
  for (const StageTimes& stage : pipeline.stages) {
    most = std::max(most, pipeline.micro_batches * stage.activation);
    least = std::max(least, stage.activation);
  }
  const double top = std::min(pipeline.limit(0), std::max(most, 1.0));
  std::vector<std::vector<double>> steps;
  for (const double step : memory_steps(p, top)) {
    if (step >= top / 2 - 1e-9 && step >= least - 1e-9) steps.emplace_back(p, step);
  }
  // All micro-batches at once is the largest step of all, and a limit below the first step but
  // above the least one stands for itself.
  if (top == most || steps.empty()) steps.emplace_back(p, top);
  return steps;
}

Status check_limits(const Pipeline& pipeline) {
  for (int d = 0; d < pipeline.devices(); ++d) {
    const double least = pipeline.stages[d].activation, limit = pipeline.limit(d);
    if (limit >= least - 1e-9) continue;
    return invalid("a memory limit of {} cannot hold the {} of one micro-batch on stage {}", limit,
                   least, d)
        .with_help(fmt::format("allow at least {}", least));
  }
  return {};
}

}  // namespace

Result<Schedule> auto_schedule(const Pipeline& pipeline, const AutoScheduleOptions& options) {
  TENON_TRY(check_pipeline(pipeline));
  TENON_TRY(check_limits(pipeline));
  if (!pipeline.memory_limits.empty() && pipeline.memory_limits.size() > 1 &&
      static_cast<int>(pipeline.memory_limits.size()) != pipeline.devices()) {
    return invalid("{} memory limits for {} stages", pipeline.memory_limits.size(),
                   pipeline.devices());
  }
  if (pipeline.virtual_stages > 2) {
    return unsupported("auto places one or two chunks on a device, not {}", pipeline.virtual_stages)
        .with_help("leave the number of virtual stages out");
  }
  std::vector<Contest> all = contests(pipeline);
  const auto steps = limit_steps(pipeline);
  for (Contest& contest : all) {
    contest.floor = makespan_lower_bound(contest.placement, pipeline.micro_batches, steps.back(),
                                         pipeline.weight_share);
  }
  // From the largest limit down: once a floor is met nothing smaller can do better.
  for (auto limits = steps.rbegin(); limits != steps.rend(); ++limits) {
    double best = INFINITY;
    // Less memory seldom does better: it gets half the time.
    const std::int64_t budget =
        limits == steps.rbegin() ? options.ops_budget : options.ops_budget / 2;
    for (Contest& contest : all) {
      if (contest.floor < best - 1e-9) compete(contest, pipeline, *limits, budget);
      best = std::min(best, contest.best.makespan);
    }
    double floor = INFINITY;
    for (const Contest& contest : all) floor = std::min(floor, contest.floor);
    if (best <= floor + 1e-9) break;
  }
  auto winner = std::min_element(all.begin(), all.end(), [](const Contest& a, const Contest& b) {
    return a.best.makespan < b.best.makespan - 1e-9;
  });
  TENON_CHECK(!winner->best.devices.empty(), "no schedule for {} stages", pipeline.devices());
  return Schedule{ScheduleKind::automatic, pipeline.micro_batches, std::move(winner->placement),
                  std::move(winner->best.devices)};
}

}  // namespace tenon::planner
