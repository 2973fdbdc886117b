// Adds up the cost facets of a graph.
#include "tenon/migrate/analysis.h"

#include <algorithm>

#include "tenon/ir/operator.h"

namespace tenon::migrate {
namespace {

void add_graph(const Graph& graph, const Bindings& sizes,
               std::map<std::string, OperatorWork>& by_op, Analysis& a) {
  for (const Value* v : graph.constants()) {
    a.parameters += v->tensor().count();
    a.weight_bytes += static_cast<std::int64_t>(v->tensor().bytes());
  }
  for (const Node* n : graph.nodes()) {
    ++a.num_nodes;
    OperatorWork& w = by_op[std::string(n->op().name)];
    w.op = n->op().name;
    ++w.count;
    for (const auto& r : n->regions()) add_graph(*r, sizes, by_op, a);
    if (!n->regions().empty()) continue;
    if (auto work = work_of(*n, sizes)) {
      w.flops += work->flops;
      w.bytes += work->bytes;
    } else {
      ++a.num_unknown;
    }
  }
}

}  // namespace

std::optional<NodeWork> work_of(const Node& node, const Bindings& sizes) {
  if (!node.op().cost) return NodeWork{};
  const auto ranked = [](const Value* v) {
    return !v || (v->type().is_tensor() && v->type().ranked());
  };
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), ranked) ||
      !std::all_of(node.outputs().begin(), node.outputs().end(), ranked))
    return std::nullopt;
  const Cost cost = node.op().cost(Call(node));
  auto flops = cost.flops.evaluate(sizes), read = cost.bytes_read.evaluate(sizes),
       written = cost.bytes_written.evaluate(sizes);
  if (!flops.ok() || !read.ok() || !written.ok()) return std::nullopt;
  return NodeWork{static_cast<double>(*flops),
                  static_cast<double>(*read) + static_cast<double>(*written)};
}

Analysis analyze(const Graph& graph, const Bindings& sizes) {
  Analysis a;
  std::map<std::string, OperatorWork> by_op;
  add_graph(graph, sizes, by_op, a);
  for (auto& [name, w] : by_op) {
    a.flops += w.flops;
    a.bytes += w.bytes;
    a.operators.push_back(std::move(w));
  }
  std::stable_sort(a.operators.begin(), a.operators.end(),
                   [](const OperatorWork& x, const OperatorWork& y) {
                     return x.flops + x.bytes > y.flops + y.bytes;
                   });
  return a;
}

}  // namespace tenon::migrate
