// A plan's choices as they apply to one layer, and its mesh as it lies on the topology.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "tenon/planner/layer_price.h"
#include "tenon/planner/plan.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

/// "3" or "3-7" (both ends included) as a range of blocks; nothing for a layer kind or name.
std::optional<std::pair<int, int>> layer_range(std::string_view match);

/// Whether an override speaks of this layer class in block `block` of the chain (-1: no block).
bool applies(const LayerOverride& override, const LayerClass& layer, int block);

/// Whether some override names a range of blocks, so that equal blocks may differ.
bool has_ranges(const Plan& plan);

/// The plan's degrees as they apply to one layer class.
Strategy strategy_for(const LayerClass& layer, const Plan& plan, int block = -1);

/// What a layer recomputes where its stage's choice is `stage`.
Recompute recompute_for(const LayerClass& layer, const Plan& plan, int block, Recompute stage);

/// The choice of one pipeline device before overrides.
Recompute recompute_on(const Plan& plan, int device);

/// Ranks between neighbours on an axis, in the plan's placement (default: tensor fastest, then
/// context, data, pipeline).
std::int64_t stride_of(const Plan& plan, Axis axis);

/// Seconds of one message of `bytes` a device to the next stage, less what overlaps: the bytes each
/// peer sends, the gather that makes it whole again, and the host's synchronisation.
double send_time(const Plan& plan, const DeviceModel& model, double bytes);

}  // namespace tenon::planner
