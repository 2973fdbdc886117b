// Nodes that become one `fused` node.
#pragma once

#include <vector>

#include "tenon/ir/graph.h"

namespace tenon::passes {

/// Puts a `fused` node in front of `before` that computes `outputs` (results of `nodes`, in
/// execution order); constants of one element move into its region. The nodes stay as they are and
/// nothing reads the new node yet.
Node* make_fused(Graph& graph, const std::vector<Node*>& nodes, const Values& outputs,
                 Node* before);

/// The results of `fused` take over from `outputs`, and those of `nodes` that nothing else reads
/// go.
void replace_by_fused(Graph& graph, Node* fused, const std::vector<Node*>& nodes,
                      const Values& outputs);

}  // namespace tenon::passes
