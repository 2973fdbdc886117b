// Pipeline devices: their layers summed, their times and memory.
#include <algorithm>

#include "tenon/planner/memory_model.h"
#include "tenon/planner/plan_mapping.h"
#include "tenon/planner/precision_bytes.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {

void Pricer::price_classes(const Plan& plan, std::size_t group) {
  for (std::size_t c = 0; c < workload_.classes.size(); ++c) {
    const Strategy strategy = strategy_for(workload_.classes[c], plan);
    class_prices_[c] = &class_price(static_cast<int>(c), strategy, group);
  }
  for (std::size_t b = 0; b < block_prices_.size(); ++b) {
    block_prices_[b] = LayerPrice{};
    for (int c : workload_.block_types[b].classes) {
      block_prices_[b] += *class_prices_[static_cast<std::size_t>(c)];
    }
    for (Recompute kind : {Recompute::none, Recompute::selective, Recompute::full}) {
      block_costs_[3 * b + static_cast<std::size_t>(kind)] =
          block_cost(plan, static_cast<int>(b), kind, -1);
    }
  }
}

BlockCost Pricer::block_cost(const Plan& plan, int type, Recompute stage, int block) const {
  BlockCost cost;
  const auto& classes = workload_.block_types[static_cast<std::size_t>(type)].classes;
  bool all_full = true;
  for (int c : classes) {
    const LayerClass& layer = workload_.classes[static_cast<std::size_t>(c)];
    const LayerPrice& price = *class_prices_[static_cast<std::size_t>(c)];
    const Recompute kind = recompute_for(layer, plan, block, stage);
    cost.sum += price;
    all_full = all_full && kind == Recompute::full;
    cost.flight += kind == Recompute::none        ? price.kept_bytes
                   : kind == Recompute::selective ? price.kept_selective_bytes
                                                  : price.input_bytes;
    if (kind == Recompute::selective) {
      cost.recompute += price.core_forward;
      cost.once = std::max(cost.once, price.kept_bytes - price.kept_selective_bytes);
    }
    if (kind == Recompute::full) {
      cost.recompute += price.forward + price.forward_comm;
      cost.recompute_comm += price.forward_comm;
      cost.recompute_kernels += price.kernels_forward;
      cost.once = std::max(cost.once, price.kept_bytes);
    }
  }
  if (all_full) {
    // The whole block is recomputed at once from its own input.
    cost.flight = class_prices_[static_cast<std::size_t>(classes.front())]->input_bytes;
    cost.once = cost.sum.kept_bytes;
  }
  const Strategy s =
      strategy_for(workload_.classes[static_cast<std::size_t>(classes[0])], plan, block);
  cost.boundary = workload_.block_types[static_cast<std::size_t>(type)].boundary_bytes *
                  (s.precision == Precision::fp32 ? 2 : 1) * plan.micro_batch / s.context /
                  (s.sequence ? s.tensor : 1);
  return cost;
}

void Pricer::add_block_cost(const BlockCost& cost, double count, StageState& stage) const {
  stage.sum.add_times(cost.sum, count);
  stage.recompute += count * cost.recompute;
  stage.recompute_comm += count * cost.recompute_comm;
  stage.recompute_kernels += count * cost.recompute_kernels;
  stage.flight_bytes += count * cost.flight;
  stage.once_bytes = std::max(stage.once_bytes, cost.once);
  stage.boundary_bytes = cost.boundary;
  stage.largest_block_parameters =
      std::max(stage.largest_block_parameters, cost.sum.parameters + cost.sum.expert_parameters);
}

void Pricer::add_span(const Plan& plan, const ChunkSpan& span, StageState& stage) const {
  const Recompute kind = recompute_on(plan, stage.device);
  const int end_of_span = span.first + span.count;
  for (int at = span.first; at < end_of_span;) {
    const int type = workload_.blocks[static_cast<std::size_t>(at)];
    int end = at + 1;
    while (end < end_of_span && workload_.blocks[static_cast<std::size_t>(end)] == type) ++end;
    const double count = end - at;
    // `recompute_layers` of the device's layers recompute, the others keep everything.
    double share = 1;
    if (kind == Recompute::full && plan.recompute_layers > 0) {
      share = std::min(1.0, double(plan.recompute_layers) / stage.layers);
    }
    const BlockCost* costs = &block_costs_[3 * static_cast<std::size_t>(type)];
    add_block_cost(costs[static_cast<int>(kind)], count * share, stage);
    if (share < 1)
      add_block_cost(costs[static_cast<int>(Recompute::none)], count * (1 - share), stage);
    at = end;
  }
}

void Pricer::add_ranged_span(const Plan& plan, const ChunkSpan& span, StageState& stage) {
  const Recompute kind = recompute_on(plan, stage.device);
  for (int at = span.first; at < span.first + span.count; ++at) {
    const int type = workload_.blocks[static_cast<std::size_t>(at)];
    for (int c : workload_.block_types[static_cast<std::size_t>(type)].classes) {
      const LayerClass& layer = workload_.classes[static_cast<std::size_t>(c)];
      class_prices_[static_cast<std::size_t>(c)] =
          &class_price(c, strategy_for(layer, plan, at), stage.group);
    }
    add_block_cost(block_cost(plan, type, kind, at), 1, stage);
  }
  price_classes(plan, stage.group);  // back to what holds outside the ranges
}

void Pricer::add_extra(const std::vector<int>& classes, bool once, StageState& stage) const {
  for (int c : classes) {
    const LayerPrice& price = *class_prices_[static_cast<std::size_t>(c)];
    stage.sum += price;
    (once ? stage.once_bytes : stage.flight_bytes) += price.kept_bytes;
  }
}

namespace {

/// Seconds of a transfer that are left when `work` runs beside it and `overlap` of it can hide.
double exposed(double transfer, double overlap, double work) {
  return transfer - std::min(overlap * transfer, work);
}

/// Activations go to the host in forward and come back in backward, over the device's own link.
void add_activation_offload(const Device& device, double bytes, DeviceTimes& times) {
  constexpr double overlap = 0.85;  // copies and kernels share the memory's bandwidth
  const double transfer = bytes / std::max(1e9, device.host_link.bytes_per_second);
  times.forward += exposed(transfer, overlap, times.forward);
  times.backward_input += exposed(transfer, overlap, times.backward_input + times.backward_weight);
}

}  // namespace

void Pricer::add_sharded_weights(const Plan& plan, StageState& stage) const {
  // Weights are gathered for forward and again for backward, gradients scattered, each micro-batch.
  const DeviceModel& model = models_[stage.group];
  const GroupLinks group = group_links(model.levels, model.efficiency, sharing_peers(plan),
                                       stride_of(plan, Axis::context));
  const double parameters = stage.sum.parameters + stage.sum.expert_parameters;
  const double weight = state_bytes(plan.precision, plan.optimizer).weight;
  const double gather = all_gather_seconds(group, parameters * weight);
  const double scatter = reduce_scatter_seconds(group, parameters * traveling_gradient_bytes(plan));
  const double overlap = model.efficiency.gradient_overlap;
  DeviceTimes& t = stage.times;
  t.forward += exposed(gather, overlap, t.forward);
  t.backward_input += exposed(gather + scatter, overlap, t.backward_input + t.backward_weight);
}

void Pricer::finish_times(const Plan& plan, StageState& stage) const {
  const DeviceModel& model = models_[stage.group];
  const LayerPrice& sum = stage.sum;
  const double host = model.efficiency.host_seconds;
  stage.compute_seconds = sum.forward + sum.backward_input + sum.backward_weight + stage.recompute -
                          stage.recompute_comm;
  stage.times = {sum.forward + sum.forward_comm,
                 sum.backward_input + sum.backward_comm + stage.recompute, sum.backward_weight};
  if (plan.zero_stage >= 3) add_sharded_weights(plan, stage);
  if (plan.offload == Offload::activations || plan.offload == Offload::both) {
    add_activation_offload(model.device, stage.flight_bytes, stage.times);
  }
  // When kernels are shorter than their launches, the host sets the pace.
  const double slack_forward = std::max(0.0, sum.kernels_forward * host - stage.times.forward);
  const double slack_backward =
      std::max(0.0, (sum.kernels_backward + stage.recompute_kernels) * host -
                        stage.times.backward_input - stage.times.backward_weight);
  stage.times.forward += slack_forward, stage.times.backward_input += slack_backward;
  stage.compute_seconds += slack_forward + slack_backward;
  stage.send = send_time(plan, model, stage.boundary_bytes);
  if (plan.schedule == ScheduleKind::interleaved && plan.pipeline_parallel > 1) {
    // Each chunk sends and receives while its device waits, forward and backward.
    stage.times.forward += plan.virtual_stages * stage.send;
    stage.times.backward_input += plan.virtual_stages * stage.send;
  }
}

StageState Pricer::stage_on(const Plan& plan, int device, std::size_t group) {
  StageState stage;
  stage.device = device, stage.group = group;
  stage.layers = layers_[static_cast<std::size_t>(device)];
  const bool ranged = has_ranges(plan);
  for (const ChunkSpan& span : spans_) {
    if (span.device != device || span.count == 0) continue;
    if (ranged) {
      add_ranged_span(plan, span, stage);
    } else {
      add_span(plan, span, stage);
    }
  }
  if (spans_.front().device == device) add_extra(workload_.first, false, stage);
  if (spans_.back().device == device) {
    add_extra(workload_.last, true, stage);
    if (workload_.tied_embeddings && spans_.front().device != device) {
      // The last stage holds its own copy of the shared table.
      stage.sum.parameters +=
          class_prices_[static_cast<std::size_t>(workload_.first.front())]->parameters;
    }
  }
  finish_times(plan, stage);
  return stage;
}

bool Pricer::repeats(const Plan& plan, int device) const {
  // Devices in the middle of a chain of equal blocks differ only in how many micro-batches they
  // keep.
  if (device < 2 || device == plan.pipeline_parallel - 1 || models_.size() > 1 ||
      workload_.block_types.size() > 1 || !plan.recompute_per_stage.empty()) {
    return false;
  }
  if (!plan.layers.empty() && has_ranges(plan)) return false;
  if (spans_.back().device == device || spans_.back().device == device - 1) return false;
  return layers_[static_cast<std::size_t>(device)] == layers_[static_cast<std::size_t>(device) - 1];
}

StageState Pricer::slowest_stage(const Plan& plan, int device) {
  if (models_.size() == 1) return stage_on(plan, device, 0);
  const auto [first, last] = groups_of_stage(plan, device);
  StageState slowest;
  for (std::size_t group = first; group <= last; ++group) {
    price_classes(plan, group);
    StageState stage = stage_on(plan, device, group);
    if (group == first || stage.times.total() > slowest.times.total()) slowest = stage;
  }
  return slowest;
}

}  // namespace tenon::planner
