// A Workload from a graph: layer classes from the operators' own cost, instead of from a spec.
#pragma once

#include "tenon/base/error.h"
#include "tenon/ir/graph.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

struct GraphSizes {
  Bindings symbols;    // values of symbolic dims; the batch symbol among them
  double samples = 1;  // how many samples the graph's inputs then hold
};

/// The forward graph as a chain of blocks. Work and bytes come from each page's cost facet, matrix
/// products from the contraction trait and their weights, parameters from floating constants, kept
/// tensors from results that are no views. The chain is cut where one tensor alone goes on; equal
/// stretches become one layer class. What tensor peers divide, sum and gather follows from the
/// sharding facets (graph_sharding.h).
/// Errors: a node without cost, a symbol without a value.
Result<Workload> workload_of(const Graph& graph, const GraphSizes& sizes);

}  // namespace tenon::planner
