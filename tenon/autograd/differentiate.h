// Gradient graphs: reverse-mode differentiation by the gradient rules of the op pages.
#pragma once

#include "tenon/ir/builder.h"

namespace tenon::autograd {

/// Appends to `graph` the nodes that compute, for each value of `wrt`, the gradient of
/// sum over i of <upstream[i], outputs[i]>. An upstream that is nullptr stands for ones; outputs
/// and values that are not floating take no part. A value that nothing depends on gets zeros.
/// unsupported names the node whose operator has no gradient.
/// Source: reverse accumulation (Griewank and Walther 2008, chapter 3).
Result<Values> differentiate(Graph& graph, const Values& outputs, const Values& upstream,
                             const Values& wrt);

/// The same graph with every f32, f16 and bf16 value in f64, for checks by central differences.
Result<std::unique_ptr<Graph>> in_double(const Graph& graph);

}  // namespace tenon::autograd
