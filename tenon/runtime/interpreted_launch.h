// The interpreter behind the kernel contract: nodes that a backend declined run here, on the host.
#pragma once

#include <functional>
#include <memory>

#include "tenon/ops/interpreter.h"
#include "tenon/runtime/backend.h"

namespace tenon {

/// Runs a region on behalf of a control flow node, given the pool of the run.
using RegionExecutor =
    std::function<Result<Datums>(const Graph& region, Datums inputs, ThreadPool& pool)>;

/// A launch that interprets `node`'s page on numeric tensors of fixed sizes.
std::unique_ptr<Launch> interpreted_launch(const Node& node, std::vector<Extent> inputs,
                                           std::vector<Extent> outputs, RegionExecutor regions);

/// A tensor over memory that somebody else keeps alive.
Tensor borrowed_tensor(const Extent& extent, const std::byte* data);

}  // namespace tenon
