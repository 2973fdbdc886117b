// sink_transposes: transposes move below the nodes that read them, until two of them meet.
//
//   f(T x, T y)          -> T f(x, y)                 elementwise; operands that are constant,
//                                                     scalar or turn without moving data may differ
//   concat(T x, T y; a)  -> T concat(x, y; perm[a])
//   reduce(T x; axes)    -> T reduce(x; perm[axes])   the transpose of what is left
//   pad, slice, resize, softmax: axes and per-axis lists in the other order
//   pool(T x)            -> T pool'(x)                T from channels last: the pool runs there
//   reshape(T x)         -> T reshape(x)              when it joins axes that stay neighbours
//   T x                  -> reshape(x)                when only axes of size 1 move
//
// A node moves only when more of its large operands come out of transposes than do not: so no pass
// adds transposes, and a second run finds nothing.
#include <algorithm>

#include "tenon/ops/op_page.h"
#include "tenon/passes/group_region.h"
#include "tenon/passes/layout.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

// One node to be applied on the far side of transposes by `perm`: y[axis k] = x[axis perm[k]].
struct Sink {
  Graph& graph;
  Node* node;
  Perm perm;
  GraphBuilder builder;

  Sink(Graph& g, Node* n, Perm p)
      : graph(g), node(n), perm(std::move(p)), builder(g, ops::table(), n) {
    builder.set_origin(n->name(), n->origin());
  }
  Value* transposed(Value* v, const Perm& by) {
    return builder.call(builder.op("transpose"), {v}, Attrs{{"perm", by}})[0];
  }
  std::int64_t axis(std::int64_t a) const {
    return perm[static_cast<std::size_t>(a < 0 ? a + static_cast<std::int64_t>(perm.size()) : a)];
  }
  // The result takes the node's place, turned as the node's operands were.
  bool finish(Value* fresh) {
    if (!builder.status().ok()) return false;
    Value* y = transposed(fresh, perm);
    y->set_name(node->output(0)->name());
    y->set_type(node->output(0)->type());
    graph.replace_uses(node->output(0), y);
    graph.erase(node);
    return true;
  }
};

bool is_transposed(const Value* v, const Perm& perm) { return v && perm_of(v->producer()) == perm; }
bool is_scalar(const Value* v) {
  return v->type().is_tensor() && v->type().ranked() && v->type().ndim() == 0;
}

// The permutation of the first transpose among the operands.
std::optional<Perm> operand_perm(const Node& node) {
  for (const Value* v : node.inputs())
    if (v)
      if (auto p = perm_of(v->producer())) return p;
  return std::nullopt;
}

// Whether more large operands come out of transposes by `perm` than do not.
bool pays(const Node& node, const Perm& perm) {
  int come = 0, stay = 0;
  for (const Value* v : node.inputs()) {
    if (!v || v->is_constant() || is_scalar(v)) continue;
    if (!v->type().ranked() || v->type().ndim() != static_cast<int>(perm.size())) return false;
    if (moves_nothing(v->type(), inverse(perm))) continue;
    ++(is_transposed(v, perm) ? come : stay);
  }
  return come > stay;
}

// A constant that was broadcast against the result, for the other order of axes.
Value* turned_constant(Sink& s, Value* v) {
  if (v->tensor().count() == 1)
    return v->tensor().ndim() ? s.builder.constant(v->tensor().reshaped({})) : v;
  Dims dims = v->tensor().dims();
  dims.insert(dims.begin(), s.perm.size() - dims.size(), 1);
  return s.transposed(s.builder.constant(v->tensor().reshaped(dims)), inverse(s.perm));
}
Value* turned(Sink& s, Value* v) {
  if (!v || is_scalar(v)) return v;
  if (is_transposed(v, s.perm)) return v->producer()->input(0);
  return v->is_constant() ? turned_constant(s, v) : s.transposed(v, inverse(s.perm));
}

bool sink_elementwise(Sink& s) {
  const Node& n = *s.node;
  const Type& y = n.output(0)->type();
  if (n.outputs().size() != 1 || !y.ranked() || y.ndim() != static_cast<int>(s.perm.size()) ||
      !pays(n, s.perm))
    return false;
  for (const Value* v : n.inputs())
    if (v && v->is_constant() && v->tensor().ndim() > y.ndim()) return false;
  Values args;
  for (Value* v : n.inputs()) args.push_back(turned(s, v));
  return s.finish(s.builder.call(n.op(), args, n.attrs())[0]);
}

bool sink_concat(Sink& s) {
  const Node& n = *s.node;
  if (!pays(n, s.perm)) return false;
  Values args;
  for (Value* v : n.inputs()) {
    // A scalar or a broadcast constant cannot stand here: concat's operands have full rank.
    if (v->is_constant())
      args.push_back(s.transposed(v, inverse(s.perm)));
    else
      args.push_back(turned(s, v));
  }
  Attrs attrs = n.attrs();
  attrs.set("axis", s.axis(Call(n).integer("axis")));
  return s.finish(s.builder.call(n.op(), args, attrs)[0]);
}

std::optional<std::vector<std::int64_t>> constant_integers(const Value* v) {
  if (!v || !v->is_constant()) return std::nullopt;
  return to_int64s(v->tensor());
}

// Axes that are kept stay in the order in which x has them, so what is left turns too.
bool sink_reduction(Sink& s) {
  const Node& n = *s.node;
  const auto axes = constant_integers(n.input(1));
  if (!axes || axes->empty() || n.outputs().size() != 1) return false;
  const Call c(n);
  std::vector<std::int64_t> moved;
  for (std::int64_t a : *axes) moved.push_back(s.axis(a));
  std::sort(moved.begin(), moved.end());
  Value* fresh = s.builder.call(
      n.op(), {n.input(0)->producer()->input(0), s.builder.constant(Tensor::vector(moved))},
      n.attrs())[0];
  if (c.flag("keepdims")) return s.finish(fresh);
  // y's axes in x's numbering without the folded ones, renumbered
  Perm left;
  for (std::int64_t p : s.perm)
    if (!std::binary_search(moved.begin(), moved.end(), p))
      left.push_back(p - (std::lower_bound(moved.begin(), moved.end(), p) - moved.begin()));
  s.perm = left;
  if (!left.empty()) return s.finish(fresh);
  if (!s.builder.status().ok()) return false;
  s.graph.replace_uses(n.output(0), fresh);
  s.graph.erase(s.node);
  return true;
}

// A list with one entry for each axis of y (or two lists in a row: begins, then ends), for x.
Value* turned_list(Sink& s, const Value* v) {
  const Tensor& t = v->tensor();
  const auto n = static_cast<std::int64_t>(s.perm.size());
  Tensor out(t.dtype(), t.dims());
  const auto size = static_cast<std::size_t>(size_of(t.dtype()));
  for (std::int64_t i = 0; i < t.count(); ++i)
    std::memcpy(
        out.raw() +
            static_cast<std::size_t>(i / n * n + s.perm[static_cast<std::size_t>(i % n)]) * size,
        t.raw() + static_cast<std::size_t>(i) * size, size);
  return s.builder.constant(std::move(out));
}
bool is_list(const Value* v, std::size_t length) {
  return v && v->is_constant() && v->tensor().count() == static_cast<std::int64_t>(length);
}
bool is_empty_or_absent(const Value* v) {
  return !v || (v->is_constant() && v->tensor().count() == 0);
}

bool sink_pad(Sink& s) {
  const Node& n = *s.node;
  if (n.input(3) || !is_list(n.input(1), 2 * s.perm.size())) return false;
  Values args = n.inputs();
  args[0] = args[0]->producer()->input(0);
  args[1] = turned_list(s, n.input(1));
  return s.finish(s.builder.call(n.op(), args, n.attrs())[0]);
}

bool sink_resize(Sink& s) {
  const Node& n = *s.node;
  const Call c(n);
  if (c.has_attr("axes") || !is_empty_or_absent(n.input(1))) return false;
  const bool by_scales = is_list(n.input(2), s.perm.size()) && is_empty_or_absent(n.input(3)),
             by_sizes = is_list(n.input(3), s.perm.size()) && is_empty_or_absent(n.input(2));
  if (!by_scales && !by_sizes) return false;
  Values args = n.inputs();
  args[0] = args[0]->producer()->input(0);
  const std::size_t at = by_scales ? 2 : 3;
  args[at] = turned_list(s, args[at]);
  return s.finish(s.builder.call(n.op(), args, n.attrs())[0]);
}

bool sink_slice(Sink& s) {
  const Node& n = *s.node;
  auto axes = constant_integers(n.input(3));
  if (!axes) return false;
  for (std::int64_t& a : *axes) a = s.axis(a);
  Values args = n.inputs();
  args[0] = args[0]->producer()->input(0);
  args[3] = s.builder.constant(Tensor::vector(*axes));
  return s.finish(s.builder.call(n.op(), args, n.attrs())[0]);
}

bool sink_softmax(Sink& s) {
  const Node& n = *s.node;
  Attrs attrs = n.attrs();
  attrs.set("axis", s.axis(Call(n).integer("axis")));
  return s.finish(s.builder.call(n.op(), {n.input(0)->producer()->input(0)}, attrs)[0]);
}

bool sink_pool(Sink& s, const PassContext& context) {
  const Node& n = *s.node;
  const auto ndim = static_cast<int>(s.perm.size());
  if (s.perm != from_channels_last(ndim) || !context.backend ||
      !context.backend->prefers_channels_last(n))
    return false;
  for (std::size_t i = 1; i < n.outputs().size(); ++i)
    if (!n.outputs()[i]->uses().empty()) return false;
  Value* y = run_channels_last(s.builder, n, n.input(0)->producer()->input(0));
  if (!s.builder.status().ok()) return false;
  y->set_name(n.output(0)->name());
  s.graph.replace_uses(n.output(0), y);
  s.graph.erase(s.node);
  return true;
}

// reshape [n, c, spatial...] -> [n, c, product] over channels last: [n, product, c] turned.
bool sink_reshape(Sink& s) {
  const Node& n = *s.node;
  const Type &x = n.input(0)->type(), &y = n.output(0)->type();
  const auto ndim = static_cast<int>(s.perm.size());
  if (s.perm != from_channels_last(ndim) || ndim < 4 || !y.ranked() || y.ndim() != 3 ||
      !(y.dim(0) == x.dim(0)) || !(y.dim(1) == x.dim(1)) || !y.dim(1).is_constant())
    return false;
  Value* shape =
      s.builder.constant(Tensor::vector(std::vector<std::int64_t>{0, -1, y.dim(1).value()}));
  s.perm = {0, 2, 1};
  return s.finish(
      s.builder.call(s.builder.op("reshape"), {n.input(0)->producer()->input(0), shape})[0]);
}

// A transpose that moves no data, as the view that it is.
bool as_view(Graph& graph, Node* node) {
  const auto perm = perm_of(node);
  const Type& x = node->input(0)->type();
  if (!perm || !moves_nothing(x, *perm)) return false;
  std::vector<std::int64_t> shape;
  bool inferred = false;
  for (std::size_t i = 0; i < perm->size(); ++i) {
    const Dim d = node->output(0)->type().dim(static_cast<int>(i));
    if (d.is_constant())
      shape.push_back(d.value());
    else if ((*perm)[i] == static_cast<std::int64_t>(i))
      shape.push_back(0);  // copied from x
    else if (!std::exchange(inferred, true))
      shape.push_back(-1);
    else
      return false;
    if (d.is_constant() && d.value() == 0) return false;
  }
  GraphBuilder builder(graph, ops::table(), node);
  builder.set_origin(node->name(), node->origin());
  Value* y = builder.call(builder.op("reshape"),
                          {node->input(0), builder.constant(Tensor::vector(shape))})[0];
  if (!builder.status().ok()) return false;
  y->set_name(node->output(0)->name());
  y->set_type(node->output(0)->type());
  graph.replace_uses(node->output(0), y);
  graph.erase(node);
  return true;
}

bool sink(Graph& graph, Node* node, const PassContext& context) {
  const auto perm = operand_perm(*node);
  if (!perm || perm_of(node)) return false;
  Sink s(graph, node, *perm);
  const std::string_view op = node->op().name;
  if (node->op().has(Trait::elementwise)) return sink_elementwise(s);
  if (op == "concat") return sink_concat(s);
  if (!is_transposed(node->input(0), *perm)) return false;
  if (node->op().has(Trait::reduction)) return sink_reduction(s);
  if (op == "pad") return sink_pad(s);
  if (op == "resize") return sink_resize(s);
  if (op == "slice") return sink_slice(s);
  if (op == "softmax") return sink_softmax(s);
  if (op == "max_pool" || op == "average_pool") return sink_pool(s, context);
  if (op == "reshape") return sink_reshape(s);
  return false;
}

}  // namespace

Result<int> sink_transposes(Graph& graph, const PassContext& context) {
  if (graph.name() == "fused") return 0;
  int moved = 0;
  for (Node* node : graph.nodes()) moved += sink(graph, node, context);
  for (Node* node : graph.nodes()) moved += as_view(graph, node);
  return moved;
}

}  // namespace tenon::passes
