// The steps of a training graph that write new state over old.
#pragma once

#include <set>

#include "tenon/passes/pass.h"

namespace tenon::passes {

/// The elementwise nodes that serve nothing but outputs which take an input's memory, and have
/// their shape: new weights and moments from gradients. Kernels that read elements again after they
/// wrote their result (products, rows in several passes) must not take these in: the old state
/// would have to be copied. Empty for graphs without donations.
std::set<const Node*> update_nodes(const Graph& graph, const PassContext& context);

}  // namespace tenon::passes
