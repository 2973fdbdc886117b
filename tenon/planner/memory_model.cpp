// Memory of one pipeline device.
#include "tenon/planner/memory_model.h"

#include <algorithm>

#include "tenon/planner/precision_bytes.h"

namespace tenon::planner {
namespace {

/// Device context, library handles and communication channels, beside what the framework allocates.
constexpr double kContextBytes = 1.2e9;
/// Slack of a caching allocator: blocks that do not fit what is asked for, of the activations.
constexpr double kFragmentation = 0.02;

void add_states(const Plan& plan, double parameters, double trained, double peers, double copies,
                MemoryParts& memory) {
  const StateBytes bytes = state_bytes(plan.precision, plan.optimizer);
  const double weight_peers = plan.zero_stage >= 3 ? peers : 1;
  const double gradient_peers = plan.zero_stage >= 2 ? peers : 1;
  const double optimizer_peers = plan.zero_stage >= 1 ? peers : 1;
  const bool offloaded = plan.offload == Offload::optimizer || plan.offload == Offload::both;
  memory.weights += copies * parameters * bytes.weight / weight_peers;
  memory.gradients += copies * trained * bytes.gradient / gradient_peers;
  if (!offloaded) memory.optimizer += trained * bytes.optimizer / optimizer_peers;
}

double activation_bytes(const Plan& plan, const StageState& stage) {
  const int chunks = chunks_per_device(plan.schedule, plan.virtual_stages);
  const double kept = stage.sum.kept_bytes;
  const double share = kept > 0 ? stage.sum.weight_kept_bytes / kept : 0;
  const double flight = micro_batches_in_flight(plan.schedule, stage.device, plan.pipeline_parallel,
                                                plan.num_micro_batches(), chunks, share);
  const bool offloaded = plan.offload == Offload::activations || plan.offload == Offload::both;
  // Offloaded activations leave one micro-batch on the device and one on its way back.
  return stage.flight_bytes * (offloaded ? std::min(flight, 2.0) : flight) + stage.once_bytes;
}

double buffer_bytes(const Plan& plan, const StageState& stage) {
  double bytes = 0;
  const StateBytes state = state_bytes(plan.precision, plan.optimizer);
  if (plan.pipeline_parallel > 1) bytes += 2 * stage.boundary_bytes;
  // Sequence parallelism gathers one layer's input at a time.
  if (plan.sequence_parallel && plan.tensor_parallel > 1) {
    bytes += stage.boundary_bytes * plan.tensor_parallel;
  }
  // ZeRO-3 holds the gathered weights of the block at work and of the next one; ZeRO-2 a bucket of
  // gradients before they are scattered.
  if (plan.zero_stage >= 3) bytes += 2 * stage.largest_block_parameters * state.weight;
  if (plan.zero_stage >= 2) bytes += stage.largest_block_parameters * state.gradient;
  return bytes;
}

}  // namespace

int expert_tensor(const Plan& plan) {
  for (const auto& layer : plan.layers) {
    if (layer.match == "experts" && layer.tensor_parallel) return *layer.tensor_parallel;
  }
  return plan.tensor_parallel;
}

int expert_replicas(const Plan& plan) {
  const std::int64_t all =
      std::int64_t{plan.data_parallel} * plan.context_parallel * plan.tensor_parallel;
  return static_cast<int>(
      std::max<std::int64_t>(1, all / (std::int64_t{plan.expert_parallel} * expert_tensor(plan))));
}

int sharing_peers(const Plan& plan) {
  const int all = plan.data_parallel * plan.context_parallel;
  return plan.zero_group > 0 ? std::min(plan.zero_group, all) : all;
}

int expert_sharing_peers(const Plan& plan) {
  const int all = expert_replicas(plan);
  return plan.zero_group > 0 ? std::min(plan.zero_group, all) : all;
}

void set_memory(const Plan& plan, StageState& stage) {
  MemoryParts memory;
  // DualPipe keeps the weights and gradients of two stages, one for each direction.
  const double copies = plan.schedule == ScheduleKind::dualpipe ? 2 : 1;
  const double trained = stage.sum.trained_share;
  add_states(plan, stage.sum.parameters, stage.sum.parameters * trained, sharing_peers(plan),
             copies, memory);
  add_states(plan, stage.sum.expert_parameters, stage.sum.expert_parameters * trained,
             expert_sharing_peers(plan), copies, memory);
  // Tables stay in fp32 and are updated in place, one moment a row; they have no gradients of their
  // own.
  memory.weights += 4 * stage.sum.sparse_parameters;
  memory.optimizer += 0.05 * stage.sum.sparse_parameters;
  memory.activations = activation_bytes(plan, stage);
  memory.buffers = buffer_bytes(plan, stage);
  stage.memory = memory;
  stage.reserve_bytes = kContextBytes + kFragmentation * memory.activations;
}

}  // namespace tenon::planner
