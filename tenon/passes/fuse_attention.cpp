// fuse_attention: softmax(modify(q k^T)) v, its scales, masks and the transposes around it become
// one fused node, for a kernel that never writes the scores to memory.
//
//   y = softmax(q k^T * scale + mask) v      the heads' transposes become strides
//
// The transposes that other nodes read too stay outside.
#include <algorithm>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/attention_pattern.h"
#include "tenon/passes/fused_group.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool is_output(const Value* v) {
  const Values& outputs = v->graph()->outputs();
  return std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}

bool adds_axis(const Shape& from, const Shape& to) {
  return to.size() == from.size() + 1 && to[0] == Dim(1) &&
         std::equal(from.begin(), from.end(), to.begin() + 1);
}

// reshape(op(reshape(x, [1, ...]), c), x.shape) -> op(x, c without its first axis): the masks of
// windows, which exporters add to an axis of one picture.
bool drop_picture_axis(Graph& graph, Node* outer) {
  Node* op = outer->op().name == "reshape" ? outer->input(0)->producer() : nullptr;
  if (!op || !op->op().has(Trait::elementwise) || op->inputs().size() != 2 ||
      op->output(0)->uses().size() != 1)
    return false;
  for (int i : {0, 1}) {
    Node* inner = op->input(i)->producer();
    const Value* c = op->input(1 - i);
    if (!inner || inner->op().name != "reshape" || !c->is_constant()) continue;
    Value* x = inner->input(0);
    if (!x->type().ranked() || !outer->output(0)->type().ranked() ||
        !(outer->output(0)->type() == x->type()) ||
        !adds_axis(x->type().shape(), op->output(0)->type().shape()) ||
        !(inner->output(0)->type() == op->output(0)->type()) || is_output(inner->output(0)) ||
        c->tensor().ndim() != x->type().ndim() + 1 || c->tensor().dim(0) != 1)
      continue;
    GraphBuilder builder(graph, ops::table(), outer);
    builder.set_origin(op->name(), op->origin());
    const Dims& dims = c->tensor().dims();
    Value* cut = builder.constant(c->tensor().reshaped(Dims(dims.begin() + 1, dims.end())));
    Values args = {x, x};
    args[static_cast<std::size_t>(1 - i)] = cut;
    graph.replace_uses(outer->output(0), builder.call(op->op(), args, op->attrs())[0]);
    graph.erase(outer);
    graph.erase(op);
    if (inner->output(0)->uses().empty()) graph.erase(inner);  // or x would have another reader
    return true;
  }
  return false;
}

}  // namespace

Result<int> fuse_attention(Graph& graph, const PassContext& context) {
  int fused = 0;
  for (Node* n : graph.nodes())
    if (n->op().name == "softmax" && n->input(0)->producer())
      fused += drop_picture_axis(graph, n->input(0)->producer());
  for (Node* product = graph.first(); product;) {
    Node* next = product->next();
    if (auto match = match_attention(product)) {
      Node* node = make_fused(graph, match->nodes, {match->result}, match->nodes.back());
      if (context.backend && !context.backend->supports(*node)) {
        graph.erase(node);
      } else {
        while (next &&
               std::find(match->nodes.begin(), match->nodes.end(), next) != match->nodes.end())
          next = next->next();
        replace_by_fused(graph, node, match->nodes, {match->result});
        ++fused;
      }
    }
    product = next;
  }
  return fused;
}

}  // namespace tenon::passes
