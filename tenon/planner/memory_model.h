// Memory of one pipeline device: states by precision and sharding, activations in flight, buffers.
#pragma once

#include "tenon/planner/plan.h"
#include "tenon/planner/stage_state_internal.h"

namespace tenon::planner {

/// Fills `stage.memory` and `stage.reserve_bytes` from what the stage holds.
///
/// States, bytes a parameter (d: peers that share a sharded copy): weights w, gradients g,
/// optimizer o give w + g + o without ZeRO, w + g + o/d, w + (g + o)/d, (w + g + o)/d for stages 1,
/// 2 and 3. Experts shard over their own replicas.
void set_memory(const Plan& plan, StageState& stage);

/// Peers that hold one sharded copy of the parameters, and of the expert parameters.
int sharing_peers(const Plan& plan);
int expert_sharing_peers(const Plan& plan);
/// Replicas whose gradients of expert parameters are reduced together.
int expert_replicas(const Plan& plan);
/// Tensor degree of expert layers.
int expert_tensor(const Plan& plan);

}  // namespace tenon::planner
