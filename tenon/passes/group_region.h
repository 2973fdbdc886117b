// Moving nodes into the region of one `fused` node.
#pragma once

#include <vector>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"

namespace tenon::passes {

/// Replaces `nodes` (in execution order; results of all but the last are read by them alone) by one
/// `fused` node in front of the last, which takes the last one's place, name and type. A `fused`
/// node among them is opened: its parts join the region. Numbers that elementwise nodes read move
/// into the region; all other operands become inputs. Returns the new result.
Value* fuse_nodes(Graph& graph, const std::vector<Node*>& nodes);

/// The result of `node` (one output, [n, c, spatial...] like its input 0), computed by a `fused`
/// node that reads `x`, input 0 with its channels last, and writes channels last; turned back by a
/// transpose.
Value* run_channels_last(GraphBuilder& builder, const Node& node, Value* x);

/// The node that alone reads `v`; nullptr when several do, none does, or v is an output.
Node* only_reader(const Graph& graph, const Value* v);

}  // namespace tenon::passes
