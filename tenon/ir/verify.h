// The verifier: whether a graph keeps its invariants.
#pragma once

#include "tenon/ir/graph.h"

namespace tenon {

/// Every operand is made before it is read and belongs to the graph, uses and users agree, types
/// are defined, inputs and attributes fit the page, regions take what their node hands in. All
/// problems in one error.
Status verify(const Graph& graph);

}  // namespace tenon
