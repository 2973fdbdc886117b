// legalize: operators that the backend lacks are replaced by their decomposition.
#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

// x -> decomposition(x), with the outer node's name and origin on every part.
Result<bool> replace_by_parts(Graph& graph, Node* node) {
  GraphBuilder builder(graph, ops::table(), node);
  builder.set_origin(node->name(), node->origin());
  Node* before = node->previous();
  const Values parts = node->op().decompose(builder, Call(*node));
  if (!builder.status()
           .ok()) {  // this form has no decomposition: leave the node, drop what was built
    for (Node* n = node->previous(); n != before;) {
      Node* previous = n->previous();
      graph.erase(n);
      n = previous;
    }
    return false;
  }
  for (std::size_t i = 0; i < node->outputs().size(); ++i) {
    Value* old = node->output(static_cast<int>(i));
    if (i >= parts.size() || !parts[i]) continue;
    if (parts[i]->name().empty() && !parts[i]->is_constant()) parts[i]->set_name(old->name());
    graph.replace_uses(old, parts[i]);
  }
  graph.erase(node);
  return true;
}

}  // namespace

Result<int> legalize(Graph& graph, const PassContext& context) {
  int replaced = 0;
  if (!context.backend) return 0;
  for (bool changed = true; changed;) {  // parts may be composed themselves
    changed = false;
    for (Node* node : graph.nodes()) {
      if (!node->op().decompose || node->op().has(Trait::control_flow) ||
          context.backend->supports(*node))
        continue;
      if (!TENON_TRY(replace_by_parts(graph, node))) continue;
      changed = true;
      ++replaced;
    }
  }
  return replaced;
}

}  // namespace tenon::passes
