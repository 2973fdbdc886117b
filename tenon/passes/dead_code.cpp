// dead_code: nodes and constants that nothing uses go.
#include <algorithm>

#include "tenon/passes/pass.h"

namespace tenon::passes {

// Backwards, so that a chain dies in one walk.
Result<int> dead_code(Graph& graph, const PassContext&) {
  int removed = 0;
  std::vector<bool> is_output(static_cast<std::size_t>(graph.num_value_ids()), false);
  for (const Value* v : graph.outputs()) is_output[static_cast<std::size_t>(v->id())] = true;
  for (Node* node = graph.last(); node;) {
    Node* previous = node->previous();
    const bool used =
        std::any_of(node->outputs().begin(), node->outputs().end(), [&](const Value* v) {
          return !v->uses().empty() || is_output[static_cast<std::size_t>(v->id())];
        });
    if (!used) graph.erase(node), ++removed;
    node = previous;
  }
  for (Value* v : graph.constants())
    if (v->uses().empty() && !is_output[static_cast<std::size_t>(v->id())])
      graph.erase_constant(v), ++removed;
  return removed;
}

}  // namespace tenon::passes
