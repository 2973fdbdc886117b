// The shortest plan that means the same.
#include <algorithm>

#include "tenon/planner/exports/engine.h"
#include "tenon/planner/stage_layout.h"

namespace tenon::planner {
namespace {

int degree(const Plan& plan, Axis axis) {
  switch (axis) {
    case Axis::tensor: return plan.tensor_parallel;
    case Axis::context: return plan.context_parallel;
    case Axis::data: return plan.data_parallel;
    case Axis::pipeline: return plan.pipeline_parallel;
    case Axis::expert: return 1;
  }
  return 1;
}

constexpr Axis kUsual[] = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};

bool holds(const std::vector<Axis>& order, Axis axis) {
  return std::find(order.begin(), order.end(), axis) != order.end();
}

/// All four axes, those of one peer where they usually are; empty where all are.
std::vector<Axis> short_placement(const Plan& plan) {
  std::vector<Axis> order, usual;
  const auto add = [&](Axis axis) {
    if (!holds(order, axis) && degree(plan, axis) > 1) order.push_back(axis);
  };
  for (Axis axis : plan.placement) add(axis);
  for (Axis axis : kUsual) {
    add(axis);
    if (degree(plan, axis) > 1) usual.push_back(axis);
  }
  if (order == usual) return {};
  for (Axis axis : kUsual) {
    if (holds(order, axis)) continue;
    const auto later = std::find_if(order.begin(), order.end(), [&](Axis other) {
      return static_cast<int>(other) > static_cast<int>(axis);
    });
    order.insert(later, axis);
  }
  return order;
}

void shorten_stages(Plan& plan, int blocks) {
  if (plan.pipeline_parallel == 1) {
    plan.schedule = ScheduleKind::one_f_one_b;
    plan.virtual_stages = 1;
    plan.layers_per_stage.clear();
  }
  const bool chunked =
      plan.schedule == ScheduleKind::interleaved || plan.schedule == ScheduleKind::automatic;
  if (!chunked) plan.virtual_stages = 1;
  const auto& each = plan.recompute_per_stage;
  if (!each.empty() &&
      std::all_of(each.begin(), each.end(), [&](Recompute r) { return r == each.front(); })) {
    plan.recompute = each.front();
    plan.recompute_per_stage.clear();
  }
  plan.micro_batches_per_stage.clear();  // a valid plan's equal the batch's own count
  if (blocks == 0 || plan.layers_per_stage.empty()) return;
  std::vector<int> counts;
  for (const ChunkSpan& span : chunk_spans(plan, blocks)) counts.push_back(span.count);
  const bool usual = counts == spread_blocks(blocks, static_cast<int>(counts.size()));
  plan.layers_per_stage = usual ? std::vector<int>{} : counts;
}

}  // namespace

Plan canonical(Plan plan, int blocks) {
  shorten_stages(plan, blocks);
  if (plan.tensor_parallel == 1) plan.sequence_parallel = false;
  if (plan.context_parallel == 1) plan.context_method = ContextMethod::ring;
  const int peers = plan.data_parallel * plan.context_parallel;
  if (plan.zero_stage == 0 || plan.zero_group == peers) plan.zero_group = 0;
  const bool recomputes = plan.recompute != Recompute::none || !plan.recompute_per_stage.empty();
  if (!recomputes) plan.recompute_layers = 0;
  if (blocks > 0) {
    const int most = (blocks + plan.pipeline_parallel - 1) / plan.pipeline_parallel;
    if (plan.layers_per_stage.empty() && plan.recompute_layers >= most) plan.recompute_layers = 0;
  }
  plan.placement = short_placement(plan);
  return plan;
}

}  // namespace tenon::planner
