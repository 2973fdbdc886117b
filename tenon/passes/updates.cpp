// Walks back from the outputs that take an input's memory.
#include "tenon/passes/updates.h"

#include <algorithm>

namespace tenon::passes {

std::set<const Node*> update_nodes(const Graph& graph, const PassContext& context) {
  std::set<const Node*> updates;
  if (context.donor != &graph) return updates;
  std::set<const Value*> others(graph.outputs().begin(), graph.outputs().end()), state;
  for (int i : context.donated_outputs) state.insert(graph.outputs()[static_cast<std::size_t>(i)]);
  for (const Value* v : state) others.erase(v);
  const auto serves_updates = [&](const Value* v) {
    if (others.contains(v) || (v->uses().empty() && !state.contains(v))) return false;
    return std::all_of(v->uses().begin(), v->uses().end(), [&](const Value::Use& u) {
      return updates.contains(u.node) && u.node->output(0)->type().shape() == v->type().shape();
    });
  };
  // Readers stand behind what they read, so each is decided before its operands.
  for (const Node* node = graph.last(); node; node = node->previous())
    if (node->op().has(Trait::elementwise) && node->outputs().size() == 1 &&
        node->output(0)->type().ranked() && serves_updates(node->output(0)))
      updates.insert(node);
  return updates;
}

}  // namespace tenon::passes
