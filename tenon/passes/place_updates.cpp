// place_updates: what writes new state over old stands behind the last reader of the old.
//
// Grouping moves readers down to where a group stands; the update of a weight may then come before
// a reader of the weight, and would have to be computed aside and copied.
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool stands_before(const Node* a, const Node* b) {
  for (; a; a = a->next())
    if (a == b) return true;
  return false;
}

Node* last_reader(const Value* v) {
  Node* last = nullptr;
  for (const Value::Use& u : v->uses())
    if (!last || stands_before(last, u.node)) last = u.node;
  return last;
}

bool is_read_before(const Node& maker, const Node* end) {
  for (const Value* v : maker.outputs())
    for (const Value::Use& u : v->uses())
      if (stands_before(u.node, end)) return true;
  return false;
}

}  // namespace

Result<int> place_updates(Graph& graph, const PassContext& context) {
  if (context.donor != &graph) return 0;
  int moved = 0;
  for (const auto& gift : context.gifts) {
    Node* maker = graph.outputs()[static_cast<std::size_t>(gift.output)]->producer();
    Node* reader = last_reader(graph.inputs()[static_cast<std::size_t>(gift.input)]);
    if (!maker || !reader || maker == reader || !stands_before(maker, reader) ||
        is_read_before(*maker, reader))
      continue;
    graph.move_before(maker, reader->next());
    ++moved;
  }
  return moved;
}

}  // namespace tenon::passes
