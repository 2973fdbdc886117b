// Runs pages: the meaning of a node on concrete values, from `scalar`, `eval` or the decomposition.
#pragma once

#include "tenon/ir/graph.h"
#include "tenon/ir/operator.h"

namespace tenon::ops {

/// Outputs of one node on concrete inputs. Obvious and exact rather than fast: floats compute in
/// double and round once. Errors name the node.
Result<Datums> interpret(const Node& node, const Datums& inputs);
/// The same, with regions of control flow run by `run_region`.
Result<Datums> interpret(const Node& node, const Datums& inputs, const RegionRunner& run_region);
/// The same through the node's decomposition, even when it has another meaning.
Result<Datums> interpret_decomposition(const Node& node, const Datums& inputs);
/// Outputs of a whole graph, node by node; values die after their last use.
Result<Datums> interpret(const Graph& graph, const Datums& inputs);
/// Evaluates a scalar expression over broadcast tensors, giving one tensor of the expression's
/// type. `operations` is raised by one for each arithmetic operation on one element.
Tensor evaluate_scalar(const Expr& expr, const std::vector<Tensor>& inputs, const Dims& out_dims,
                       std::int64_t* operations = nullptr);

}  // namespace tenon::ops
