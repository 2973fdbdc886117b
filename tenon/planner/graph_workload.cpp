// Graph to workload: price each node by its page, cut the chain, recognise equal stretches.
#include "tenon/planner/graph_workload.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/ir/call.h"
#include "tenon/ir/operator.h"
#include "tenon/planner/graph_sharding.h"
#include "tenon/planner/layer_builders_internal.h"

namespace tenon::planner {
namespace {

/// A node with numbers in place of symbols; bytes and flops of one sample.
struct PricedNode {
  const Node* node = nullptr;
  LayerOp op;
  double kept_bytes = 0;
  std::vector<const Value*> weights;
};

struct Reading {
  const Graph& graph;
  const GraphSizes& sizes;
  std::vector<PricedNode> nodes;
};

Result<double> number(const Dim& dim, const Reading& r) {
  return static_cast<double>(TENON_TRY(dim.evaluate(r.sizes.symbols)));
}

/// Weights are floating constants; literals of a few elements are not.
bool is_weight(const Value* value) {
  return value != nullptr && value->is_constant() && is_floating(value->type().dtype()) &&
         value->tensor().count() > 8;
}

double elements_of(const Value* value) { return static_cast<double>(value->tensor().count()); }

/// Products with a weight w of k x n: 2 rows k n operations, rows n results, k n weights.
void set_product(const Value* weight, double flops, double results, LayerOp& op) {
  const double size = elements_of(weight);
  op.kind = OpKind::matmul;
  op.rows = std::max(1.0, flops / (2 * size));
  op.columns = std::max(1.0, results / op.rows);
  op.inner = std::max(1.0, size / op.columns);
}

Result<PricedNode> price_node(const Node& node, const Reading& r) {
  PricedNode priced;
  priced.node = &node;
  priced.op.name = std::string(node.op().name);
  if (!node.op().cost) {
    return unsupported("{} has no cost: {}", node.op().name, node.op().cost.reason())
        .at(node.place());
  }
  const Call call(node);
  const Cost cost = node.op().cost(call);
  const double flops = TENON_TRY_AT(node.place(), number(cost.flops, r)) / r.sizes.samples;
  double weights = 0, results = 0;
  for (const Value* input : node.inputs()) {
    if (is_weight(input)) priced.weights.push_back(input), weights += 4 * elements_of(input);
  }
  for (const Value* output : node.outputs()) {
    if (output->type().is_tensor()) {
      results += TENON_TRY_AT(node.place(), number(output->type().count(), r)) / r.sizes.samples;
    }
  }
  const double read = TENON_TRY_AT(node.place(), number(cost.bytes_read, r));
  const double moved = std::max(0.0, read - weights) / r.sizes.samples / 2 + 2 * results;
  // Pages count in the graph's own element type, four bytes; training moves two.
  priced.op.forward_bytes = moved, priced.op.backward_bytes = 1.5 * moved;
  const bool contraction = node.op().has(Trait::contraction);
  if (contraction && !priced.weights.empty()) {
    set_product(priced.weights.front(), flops, results, priced.op);
  } else if (contraction && results > 0) {
    // A product of two activations: results of inner length flops / (2 results), as a square one.
    priced.op.kind = OpKind::matmul;
    priced.op.inner = std::max(1.0, flops / (2 * results));
    priced.op.columns = priced.op.inner;
    priced.op.rows = std::max(1.0, results / priced.op.columns);
  }
  if (!node.op().has(Trait::view)) priced.kept_bytes = 2 * results;
  return priced;
}

/// Bytes that cross each gap between nodes: gap i lies behind node i.
Result<std::vector<std::vector<double>>> crossing_bytes(const Reading& r) {
  std::map<const Node*, std::size_t> position;
  for (std::size_t i = 0; i < r.nodes.size(); ++i) position[r.nodes[i].node] = i;
  std::vector<std::vector<double>> gaps(r.nodes.size());
  const auto add = [&](const Value* value, std::size_t from) -> Status {
    std::size_t last = from;
    for (const auto& use : value->uses()) {
      const auto found = position.find(use.node);
      if (found != position.end()) last = std::max(last, found->second);
    }
    if (!value->type().is_tensor()) return {};
    // Masks and positions that layer after layer uses do not tie the layers together.
    if (value->uses().size() > 2 && 2 * (last - from) > r.nodes.size()) return {};
    const double bytes = 2 * TENON_TRY(number(value->type().count(), r)) / r.sizes.samples;
    for (std::size_t gap = from; gap < last; ++gap) gaps[gap].push_back(bytes);
    return {};
  };
  for (std::size_t i = 0; i < r.nodes.size(); ++i) {
    for (const Value* output : r.nodes[i].node->outputs()) TENON_TRY(add(output, i));
  }
  for (const Value* input : r.graph.inputs()) TENON_TRY(add(input, 0));
  return gaps;
}

/// One tensor crosses, beside scalars and the like.
bool is_cut(const std::vector<double>& crossing) {
  double most = 0;
  for (double bytes : crossing) most = std::max(most, bytes);
  int large = 0;
  for (double bytes : crossing) large += bytes > most / 64;
  return large == 1;
}

/// A stretch of nodes [first, last].
struct Stretch {
  std::size_t first = 0, last = 0;
  double boundary = 0;
};

std::vector<Stretch> stretches_of(const Reading& r, const std::vector<std::vector<double>>& gaps) {
  // Stretches without a product are not worth a stage: they join the next one.
  std::vector<Stretch> result;
  std::size_t first = 0;
  bool has_product = false;
  for (std::size_t i = 0; i < r.nodes.size(); ++i) {
    has_product = has_product || r.nodes[i].op.kind == OpKind::matmul;
    const bool end = i + 1 == r.nodes.size();
    if (!end && !(has_product && is_cut(gaps[i]))) continue;
    double boundary = 0;
    for (double bytes : gaps[i]) boundary += bytes;
    if (end) boundary = r.nodes[i].kept_bytes;  // the graph's own result goes to the loss
    if (end && !has_product && !result.empty()) {
      result.back().last = i, result.back().boundary = boundary;
    } else {
      result.push_back({first, i, boundary});
    }
    first = i + 1, has_product = false;
  }
  return result;
}

/// An operator as its division leaves it.
LayerOp divided(LayerOp op, const NodeDivision& division) {
  op.splits_columns = op.kind == OpKind::matmul && division.results;
  op.splits_inner = op.kind == OpKind::matmul && division.inner && !division.results;
  if (division.results || division.inner) op.split = Split::tensor;
  return op;
}

/// What the peers sum in a layer: one reduction of the mean size for each.
void add_reductions(const NodeDivision& division, double samples, LayerClass& layer) {
  const auto add = [&](int more, double bytes, int& count, double& mean) {
    if (more == 0) return;
    mean = (mean * count + bytes / samples) / (count + more);
    count += more;
  };
  add(division.reduces, division.reduce_bytes, layer.tensor_reduces, layer.reduce_bytes);
  add(division.reduces_backward, division.reduce_bytes_backward, layer.tensor_reduces_backward,
      layer.reduce_bytes_backward);
}

LayerClass class_of(const Reading& r, const GraphDivision& division, const Stretch& stretch) {
  LayerClass layer;
  layer.name = "graph_layer";
  layer.kind = LayerKind::ffn;
  layer.tokens = 1;
  std::set<const Value*> seen;
  for (std::size_t i = stretch.first; i <= stretch.last; ++i) {
    const PricedNode& node = r.nodes[i];
    const auto found = division.nodes.find(node.node);
    const NodeDivision part = found == division.nodes.end() ? NodeDivision{} : found->second;
    layer.ops.push_back(divided(node.op, part));
    add_reductions(part, r.sizes.samples, layer);
    if (node.kept_bytes > 0) {
      const Split split = part.results ? Split::tensor : Split::whole;
      layer.kept.push_back({node.op.name, node.kept_bytes, split, false, false});
    }
    for (const Value* weight : node.weights) {
      if (!seen.insert(weight).second) continue;
      layer.parameters.push_back(
          matrix(weight->name(), elements_of(weight), division.weights.count(weight) > 0));
    }
  }
  return layer;
}

/// What makes two stretches the same layer class.
std::string signature(const LayerClass& layer, double boundary) {
  std::string text = fmt::format("{:.0f}|", boundary);
  for (const auto& op : layer.ops) {
    text += fmt::format("{} {:.0f} {:.0f} {:.0f} {:.0f} {}{}{};", op.name, op.rows, op.inner,
                        op.columns, op.forward_bytes, op.splits_columns, op.splits_inner,
                        static_cast<int>(op.split));
  }
  text += fmt::format("{} {:.0f} {} {:.0f};", layer.tensor_reduces, layer.reduce_bytes,
                      layer.tensor_reduces_backward, layer.reduce_bytes_backward);
  for (const auto& parameter : layer.parameters) text += fmt::format("{:.0f},", parameter.elements);
  return text;
}

}  // namespace

Result<Workload> workload_of(const Graph& graph, const GraphSizes& sizes) {
  Reading r{graph, sizes, {}};
  for (const Node* node : graph.nodes()) r.nodes.push_back(TENON_TRY(price_node(*node, r)));
  if (r.nodes.empty()) return invalid("graph {} has no nodes", graph.name());
  const auto gaps = TENON_TRY(crossing_bytes(r));
  Workload w;
  w.name = graph.name();
  const std::vector<Stretch> stretches = stretches_of(r, gaps);
  std::set<const Node*> ends;
  for (const Stretch& stretch : stretches) ends.insert(r.nodes[stretch.last].node);
  const GraphDivision division = TENON_TRY(divide(graph, sizes.symbols, ends));
  std::map<std::string, int> known;
  for (const Stretch& stretch : stretches) {
    LayerClass layer = class_of(r, division, stretch);
    layer.input_bytes =
        w.blocks.empty() ? stretch.boundary
                         : w.block_types[static_cast<std::size_t>(w.blocks.back())].boundary_bytes;
    const auto [found, fresh] =
        known.emplace(signature(layer, stretch.boundary), static_cast<int>(w.block_types.size()));
    if (fresh) {
      w.classes.push_back(std::move(layer));
      w.block_types.push_back({fmt::format("stretch_{}", found->second),
                               {static_cast<int>(w.classes.size()) - 1},
                               stretch.boundary});
    }
    w.blocks.push_back(found->second);
  }
  w.tensor_divisors.push_back(
      {"sizes of the axes that the graph's operators let one divide", division.divisor});
  return w;
}

}  // namespace tenon::planner
