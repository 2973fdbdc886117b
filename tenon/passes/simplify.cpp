// simplify: rewrites that make the graph smaller without knowing any values.
#include <algorithm>

#include "tenon/ops/registry.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool is_output(const Graph& graph, const Value* v) {
  return std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
}

// The value that a node's only result equals, or nullptr.
//   view(x) -> x          when the shape stays the same
//   cast(x, x.dtype) -> x
//   transpose(x, identity) -> x
//   expand(x, x.shape) -> x, slice of everything -> x: movements that move nothing
Value* same_as_input(const Node& node) {
  Value* x = node.input(0);
  if (!x || node.outputs().size() != 1 || !x->type().is_tensor()) return nullptr;
  const Type &in = x->type(), &out = node.output(0)->type();
  if (!in.ranked() || !(in == out)) return nullptr;
  const Operator& op = node.op();
  if (op.has(Trait::view)) return x;
  if (op.name == "cast" || op.name == "expand") return x;
  if (op.name == "transpose") {
    const auto* perm = node.attrs().get<Attr::Integers>("perm");
    if (!perm) return in.ndim() <= 1 ? x : nullptr;
    for (std::size_t i = 0; i < perm->size(); ++i)
      if ((*perm)[i] != static_cast<std::int64_t>(i)) return nullptr;
    return x;
  }
  return nullptr;
}

// view(view(x)) -> view(x): the inner shape is forgotten
bool skip_inner_view(Node& node) {
  if (!node.op().has(Trait::view) || node.op().name != "reshape") return false;
  const Node* inner = node.input(0) ? node.input(0)->producer() : nullptr;
  if (!inner || !inner->op().has(Trait::view) || inner->outputs().size() != 1) return false;
  // A size of 0 in the shape copies the operand's size, which differs for the inner operand.
  const auto* allow = node.attrs().get<bool>("allow_zero");
  if (!allow || !*allow) {
    Value* shape = node.input(1);
    if (!shape->contents() && !shape->is_constant()) return false;
    if (shape->is_constant())
      for (std::int64_t d : to_int64s(shape->tensor()))
        if (d == 0) return false;
    if (shape->contents())
      for (const Dim& d : *shape->contents())
        if (at_least(d, 1) != Truth::yes && !(d == Dim(-1))) return false;
  }
  node.set_input(0, inner->input(0));
  return true;
}

// transpose(transpose(x, p), q) -> transpose(x, p[q])
bool compose_transposes(Node& node) {
  if (node.op().name != "transpose" || !node.input(0)->producer()) return false;
  const Node* inner = node.input(0)->producer();
  if (&inner->op() != &node.op()) return false;
  const auto *p = inner->attrs().get<Attr::Integers>("perm"),
             *q = node.attrs().get<Attr::Integers>("perm");
  if (!p || !q) return false;
  Attr::Integers composed;
  for (std::int64_t i : *q) composed.push_back((*p)[static_cast<std::size_t>(i)]);
  node.attrs().set("perm", composed);
  node.set_input(0, inner->input(0));
  return true;
}

}  // namespace

Result<int> simplify(Graph& graph, const PassContext&) {
  int rewrites = 0;
  for (Node* node : graph.nodes()) {
    rewrites += skip_inner_view(*node);
    rewrites += compose_transposes(*node);
    Value* x = same_as_input(*node);
    // An output keeps its own value when it would become an input or constant of the graph.
    if (!x || (is_output(graph, node->output(0)) && x->kind() != Value::Kind::result)) continue;
    graph.replace_uses(node->output(0), x);
    graph.erase(node);
    ++rewrites;
  }
  return rewrites;
}

}  // namespace tenon::passes
