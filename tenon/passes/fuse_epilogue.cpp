// fuse_epilogue: the elementwise steps after a matrix product or convolution join it.
//
// A group is an anchor (a contraction, or a group around one) and the chain of elementwise nodes
// that alone read its result, then each other's: bias, activation, residual sum. The result keeps
// its shape along the chain, so every step works on an element that the anchor has just made. The
// group's node stands where the last step stood: every other operand exists by then.
#include <algorithm>

#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/group_region.h"
#include "tenon/passes/updates.h"

namespace tenon::passes {
namespace {

bool is_f32(const Value* v) {
  return v->type().is_tensor() && v->type().ranked() && v->type().dtype() == DType::f32;
}

bool is_anchor(const Node& node, const PassContext& context) {
  if (node.outputs().size() != 1 || !is_f32(node.output(0))) return false;
  if (node.op().has(Trait::contraction)) return static_cast<bool>(context.backend->supports(node));
  if (node.op().name != "fused") return false;
  // A group around one product: others (attention, rows) are kernels of their own.
  int anchors = 0;
  for (const Node* n : node.regions()[0]->nodes()) {
    if (n->op().has(Trait::contraction))
      ++anchors;
    else if (!n->op().has(Trait::elementwise) && !n->op().has(Trait::movement))
      return false;
  }
  return anchors == 1;
}

// Whether `node` may follow on `v`: elementwise, in f32, over elements of v's own shape.
bool extends(const Node& node, const Value* v) {
  if (!node.op().has(Trait::elementwise) || !node.op().scalar || node.outputs().size() != 1)
    return false;
  const Value* y = node.output(0);
  if (!is_f32(y) || !(y->type().shape() == v->type().shape())) return false;
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* x) { return !x || is_f32(x); });
}

// Whether the backend computes `anchor` with a step behind it as one kernel: not every product that
// it knows takes steps.
bool takes_steps(const Node& anchor, const PassContext& context) {
  if (anchor.op().name == "fused") return true;
  Graph probe;
  GraphBuilder builder(probe, ops::table());
  Values inputs;
  for (const Value* v : anchor.inputs())
    inputs.push_back(!v                 ? nullptr
                     : v->is_constant() ? probe.add_constant(v->name(), v->tensor())
                                        : probe.add_input(v->name(), v->type()));
  Value* y = builder.call(anchor.op(), std::move(inputs), anchor.attrs())[0];
  Value* z = ops::B(builder).relu(y);
  if (!builder.status().ok()) return false;
  probe.add_output(z, "z");
  fuse_nodes(probe, {y->producer(), z->producer()});
  return static_cast<bool>(context.backend->supports(*probe.outputs()[0]->producer()));
}

}  // namespace

Result<int> fuse_epilogue(Graph& graph, const PassContext& context) {
  if (!context.backend || graph.name() == "fused") return 0;
  int groups = 0;
  const std::set<const Node*> updates = update_nodes(graph, context);
  // From the last to the first: of two products that meet in a sum the later one takes it, so that
  // the other has been computed by then without moving.
  for (Node* node = graph.last(); node;) {
    Node* previous = node->previous();
    if (is_anchor(*node, context)) {
      std::vector<Node*> nodes = {node};
      for (Node* next = only_reader(graph, node->output(0));
           next && !updates.contains(next) && extends(*next, nodes.back()->output(0));
           next = only_reader(graph, next->output(0)))
        nodes.push_back(next);
      if (nodes.size() > 1 && takes_steps(*node, context)) {
        fuse_nodes(graph, nodes);
        ++groups;
      }
    }
    node = previous;
  }
  return groups;
}

}  // namespace tenon::passes
