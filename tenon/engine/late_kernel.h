// Kernels of nodes that cannot be compiled before their sizes are known.
#pragma once

#include <memory>

#include "tenon/runtime/backend.h"

namespace tenon::engine {

/// Whether the node was declined for what only a run tells: an operand without rank (one that
/// branches of different ranks give), or parts that its decomposition cannot name without sizes.
bool waits_for_sizes(const Node& node);

/// A kernel that compiles the node for the sizes it is bound to, through the whole pipeline; the
/// launch is kept like any other. Declines where a part would be interpreted even then.
std::unique_ptr<Kernel> late_kernel(const Node& node, const Backend& backend);

}  // namespace tenon::engine
