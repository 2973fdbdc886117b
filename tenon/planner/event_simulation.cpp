// From priced stages to simulated ranks.
#include "tenon/planner/event_simulation.h"

#include <algorithm>

#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {

bool needs_events(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min:
    case ScheduleKind::dualpipe:
    case ScheduleKind::automatic: return true;
    case ScheduleKind::gpipe:
    case ScheduleKind::one_f_one_b:
    case ScheduleKind::interleaved:
    case ScheduleKind::zb_h1:
    case ScheduleKind::zb_h2: return false;
  }
  return false;
}

Pipeline pipeline_of(const Plan& plan, const std::vector<StagePrediction>& stages) {
  Pipeline pipeline;
  pipeline.micro_batches = static_cast<int>(plan.num_micro_batches());
  pipeline.virtual_stages = plan.schedule == ScheduleKind::automatic && plan.virtual_stages == 1
                                ? 0
                                : plan.virtual_stages;
  double most = 0;
  for (const auto& stage : stages) most = std::max(most, stage.activation_bytes);
  for (const auto& stage : stages) {
    pipeline.stages.push_back({stage.forward_seconds * 1e3, stage.backward_input_seconds * 1e3,
                               stage.backward_weight_seconds * 1e3, stage.send_seconds * 1e3,
                               most > 0 ? stage.activation_bytes / most : 1});
  }
  if (!stages.empty())
    pipeline.weight_share = std::min(1.0, stages[stages.size() / 2].weight_share);
  // Our own schedule keeps within what 1F1B holds.
  if (plan.schedule == ScheduleKind::automatic) {
    pipeline.memory_limits = {static_cast<double>(stages.size())};
  }
  return pipeline;
}

namespace {

/// Puts the simulated pipeline into the prediction; the difference is waiting.
void replace_pipeline(double before, double after, Prediction& p) {
  p.bubble_seconds += after - before;
  if (p.bubble_seconds < 0) {
    // Faster than the closed form's sends allow: they overlap more than it assumes.
    p.exposed_communication_seconds += p.bubble_seconds;
    p.bubble_seconds = 0;
  }
  const double step = p.parts_seconds();
  const double ratio = p.step_seconds / step;
  p.tokens_per_second *= ratio, p.mfu *= ratio, p.model_tflops_per_device *= ratio;
  p.step_seconds = step;
}

}  // namespace

Result<EventSimulation> simulate_events(Pricer& pricer, const Plan& plan, RankSetup setup,
                                        TraceWriter* trace) {
  EventSimulation result;
  result.prediction = predict(pricer, plan);
  const auto& stages = result.prediction.per_stage;
  const Pipeline pipeline = pipeline_of(plan, stages);
  const Schedule schedule = TENON_TRY(make_schedule(plan.schedule, pipeline));
  setup.group_ranks = plan.tensor_parallel * plan.context_parallel;
  setup.replicas = plan.data_parallel;
  for (const auto& stage : stages) {
    setup.gradient_sync_ms.push_back(stage.gradient_sync_seconds * 1e3);
    setup.optimizer_ms.push_back(stage.optimizer_seconds * 1e3);
  }
  result.report = TENON_TRY(simulate_ranks(schedule, setup, trace));
  double tail = 0;
  for (const auto& stage : stages) {
    tail = std::max(tail, stage.gradient_sync_seconds + stage.optimizer_seconds);
  }
  Prediction& p = result.prediction;
  // The closed form's pipeline is everything but the tail and what comes once a step.
  const double before = p.step_seconds - p.other_seconds - tail;
  replace_pipeline(before, result.report.step_ms / 1e3 - tail, p);
  double work = 0;
  for (const auto& stage : pipeline.stages) work += stage.work();
  p.bubble_rate = std::max(
      0.0, 1 - work * pipeline.micro_batches / pipeline.devices() / result.report.pipeline_ms);
  return result;
}

}  // namespace tenon::planner
