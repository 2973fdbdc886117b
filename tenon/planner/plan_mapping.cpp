// Layers under a plan, and axes on a topology.
#include "tenon/planner/plan_mapping.h"

#include <algorithm>
#include <charconv>

#include "tenon/cost/collective_cost.h"
#include "tenon/planner/memory_model.h"

namespace tenon::planner {
namespace {

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || bad != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::pair<int, int>> layer_range(std::string_view match) {
  const auto dash = match.find('-');
  const auto low = whole(match.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : whole(match.substr(dash + 1));
  if (!low || !high) return std::nullopt;
  return std::pair{*low, *high};
}

bool applies(const LayerOverride& override, const LayerClass& layer, int block) {
  if (const auto range = layer_range(override.match)) {
    return block >= range->first && block <= range->second;
  }
  return override.match == layer.name || override.match == name(layer.kind);
}

bool has_ranges(const Plan& plan) {
  return std::any_of(plan.layers.begin(), plan.layers.end(), [](const LayerOverride& layer) {
    return layer_range(layer.match).has_value();
  });
}

Strategy strategy_for(const LayerClass& layer, const Plan& plan, int block) {
  Strategy s;
  s.tensor = plan.tensor_parallel, s.context = plan.context_parallel;
  s.expert = plan.expert_parallel, s.expert_tensor = expert_tensor(plan);
  s.sequence = plan.sequence_parallel, s.context_method = plan.context_method;
  s.precision = plan.precision, s.micro_batch = plan.micro_batch;
  for (const auto& override : plan.layers) {
    if (!applies(override, layer, block)) continue;
    const bool experts = layer.kind == LayerKind::experts;
    if (override.tensor_parallel && !experts) s.tensor = *override.tensor_parallel;
    if (override.context_parallel) s.context = *override.context_parallel;
    if (override.expert_parallel) s.expert = *override.expert_parallel;
    if (override.sequence_parallel) s.sequence = *override.sequence_parallel;
    if (override.precision) s.precision = *override.precision;
  }
  return s;
}

Recompute recompute_for(const LayerClass& layer, const Plan& plan, int block, Recompute stage) {
  Recompute kind = stage;
  for (const auto& override : plan.layers) {
    if (override.recompute && applies(override, layer, block)) kind = *override.recompute;
  }
  return kind;
}

Recompute recompute_on(const Plan& plan, int device) {
  if (static_cast<int>(plan.recompute_per_stage.size()) == plan.pipeline_parallel) {
    return plan.recompute_per_stage[static_cast<std::size_t>(device)];
  }
  return plan.recompute;
}

std::int64_t stride_of(const Plan& plan, Axis wanted) {
  static constexpr Axis kDefault[] = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
  const auto size = [&](Axis axis) -> std::int64_t {
    switch (axis) {
      case Axis::tensor: return plan.tensor_parallel;
      case Axis::context: return plan.context_parallel;
      case Axis::data: return plan.data_parallel;
      case Axis::pipeline: return plan.pipeline_parallel;
      case Axis::expert: return 1;  // lies within data and context
    }
    return 1;
  };
  std::int64_t stride = 1;
  if (plan.placement.empty()) {
    for (Axis axis : kDefault) {
      if (axis == wanted) return stride;
      stride *= size(axis);
    }
    return stride;
  }
  for (Axis axis : plan.placement) {
    if (axis == wanted) return stride;
    stride *= size(axis);
  }
  for (Axis axis : kDefault) {  // axes the placement does not name follow, slowest last
    if (std::find(plan.placement.begin(), plan.placement.end(), axis) != plan.placement.end()) {
      continue;
    }
    if (axis == wanted) return stride;
    stride *= size(axis);
  }
  return stride;
}

double send_time(const Plan& plan, const DeviceModel& model, double bytes) {
  if (plan.pipeline_parallel == 1) return 0;
  const Efficiency& e = model.efficiency;
  const bool split = e.split_pipeline_sends && !plan.sequence_parallel && plan.tensor_parallel > 1;
  GroupLinks group = group_links(model.levels, e, 2, stride_of(plan, Axis::pipeline));
  group.network.bytes_per_second *= e.send_bandwidth / e.network_bandwidth;
  double seconds = send_seconds(group, split ? bytes / plan.tensor_parallel : bytes);
  if (split) {
    seconds += all_gather_seconds(group_links(model.levels, e, plan.tensor_parallel, 1), bytes);
  }
  return (seconds + e.pipeline_sync_seconds) * (1 - e.pipeline_overlap);
}

}  // namespace tenon::planner
