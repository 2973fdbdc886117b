// The SC'21 plans, their space and ours.
#include "tenon/planner/search/expert_plans.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "tenon/planner/calibration/split.h"
#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/search.h"

namespace tenon::planner {
namespace {

constexpr const char* kStack = "A100-80G.megatron-2021";

using Fixed = std::vector<std::pair<std::string, std::string>>;

Fixed experts_space(const Plan& plan) {
  return {{"recompute", "full"},
          {"zero_stage", "0"},
          {"sequence_parallel", "false"},
          {"context_parallel", "1"},
          {"offload", "none"},
          {"precision", std::string(name(plan.precision))}};
}

using Division = std::array<int, 3>;  // tensor, pipeline, data

struct SpaceTimes {
  std::int64_t plans = 0;
  std::map<Division, double> best;
};

/// Predicted seconds of the fastest plan of each division in the space that fits.
Result<SpaceTimes> all_times(Pricer& pricer, const MeasuredRun& run) {
  SearchRequest request;
  request.global_batch = run.plan.global_batch;
  request.fixed = experts_space(run.plan);
  const SearchSpace space = TENON_TRY(search_space(pricer.workload(), run.cluster, request));
  Evaluator evaluator(pricer, request);
  SpaceTimes times;
  for (const Mesh& mesh : meshes(space, pricer.workload(), run.plan.num_devices())) {
    Plan plan = plan_of(space, mesh);
    for (const int micro : space.micro_batch) {
      plan.micro_batch = micro;
      for (const ScheduleChoice& choice : space.schedules) {
        if (choice.kind != ScheduleKind::one_f_one_b && choice.kind != ScheduleKind::interleaved)
          continue;
        plan.schedule = choice.kind, plan.virtual_stages = choice.virtual_stages;
        const Evaluator::Outcome outcome = evaluator.evaluate(plan);
        if (!outcome.fits()) continue;
        ++times.plans;
        double& best =
            times.best.try_emplace({mesh.tensor, mesh.pipeline, mesh.data}, outcome.seconds)
                .first->second;
        best = std::min(best, outcome.seconds);
      }
    }
  }
  return times;
}

Result<ExpertPlan> compare(const MeasuredRun& run, const Calibration& calibration) {
  Pricer pricer(workload_of(run.model), run.cluster, {calibration});
  ExpertPlan result;
  result.label = run.label;
  result.measured_seconds = run.seconds;
  const Prediction expert = predict(pricer, run.plan);
  result.predicted_seconds = expert.step_seconds;
  const SpaceTimes times = TENON_TRY(all_times(pricer, run));
  const Division own = {run.plan.tensor_parallel, run.plan.pipeline_parallel,
                        run.plan.data_parallel};
  result.plans = times.plans;
  result.rank = 1;
  double best = expert.step_seconds;
  for (const auto& [division, seconds] : times.best) {
    result.rank += division != own && seconds < expert.step_seconds;
    best = std::min(best, seconds);
  }
  result.behind_best = expert.step_seconds / best - 1;
  SearchRequest request;
  request.global_batch = run.plan.global_batch;
  request.fixed = {{"precision", std::string(name(run.plan.precision))}};
  const SearchReport report = TENON_TRY(search(pricer, request));
  result.best = report.best.plan;
  const Prediction ours = predict(pricer, report.best.plan);
  result.gain = expert.step_seconds / ours.step_seconds - 1;
  // The two errors have most of their causes in common; taken as independent they bound it.
  result.gain_sigma = (1 + result.gain) * std::hypot(expert.uncertainty, ours.uncertainty);
  return result;
}

}  // namespace

Result<std::vector<ExpertPlan>> compare_with_experts() {
  const Calibration calibration = TENON_TRY(load_calibration(kStack));
  std::vector<ExpertPlan> result;
  for (const MeasuredRun& run : TENON_TRY(training_runs("megatron_sc21_a100.csv")))
    result.push_back(TENON_TRY(compare(run, calibration)));
  return result;
}

}  // namespace tenon::planner
