// Shared facets of elementwise and movement pages, and the adjoint of broadcasting.
#include "tenon/ops/op_page.h"

#include "tenon/ops/registry.h"

namespace tenon::ops {
namespace {

// Axes of x that broadcasting added or stretched relative to `like`; nullopt when undecided.
std::optional<std::vector<std::int64_t>> stretched_axes(const Shape& x, const Shape& like) {
  std::vector<std::int64_t> axes;
  const std::size_t shift = x.size() - like.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i < shift) {
      axes.push_back(static_cast<std::int64_t>(i));
      continue;
    }
    const Dim& small = like[i - shift];
    if (x[i] == small) continue;
    if (small == Dim(1))
      axes.push_back(static_cast<std::int64_t>(i));
    else if (!small.is_constant())
      return std::nullopt;
  }
  return axes;
}

// The same where only the data tell which axes those are: the ones whose sizes differ.
Value* sum_where_sizes_differ(B g, Value* x, Value* like) {
  const auto added = static_cast<std::size_t>(x->type().ndim() - like->type().ndim());
  Value* wanted =
      g.concat(g.ints(std::vector<std::int64_t>(added, 1)), g.shape(like), Attrs{{"axis", 0}});
  Value* axes = g.reshape(g.non_zero(g.not_equal(g.shape(x), wanted)), g.ints({-1}));
  return g.reduce_sum(x, axes, Attrs{{"noop_with_empty_axes", true}});
}

}  // namespace

Value* B::sum_to(Value* x, Value* like) {
  if (!x || !x->type().defined() || !like->type().defined()) return x;
  if (x->type().shape() == like->type().shape()) return x;
  auto axes = stretched_axes(x->type().shape(), like->type().shape());
  if (!axes) return reshape_like(sum_where_sizes_differ(*this, x, like), like);
  if (axes->empty()) return x;
  Value* sum = reduce_sum(x, ints(*axes), Attrs{{"keepdims", false}});
  return sum->type().shape() == like->type().shape() ? sum : reshape_like(sum, like);
}

Value* B::dims_value(const Shape& wanted, Value* source) {
  if (auto known = constant_dims(wanted)) return ints(*known);
  Values parts;
  for (const Dim& d : wanted) {
    if (d.is_constant()) {
      parts.push_back(ints({d.value()}));
      continue;
    }
    const Shape& have = source->type().shape();
    std::size_t at = 0;
    while (at < have.size() && !(have[at] == d)) ++at;
    if (at == have.size()) {
      builder_->fail(unsupported("size {} is no size of {}", d.text(), source->type().text()));
      return ints({});
    }
    parts.push_back(gather(shape(source), ints({static_cast<std::int64_t>(at)})));
  }
  return concat(parts, Attrs{{"axis", 0}});
}

Value* B::reshape_to(Value* x, const Shape& wanted) {
  return reshape(x, dims_value(wanted, x), Attrs{{"allow_zero", true}});
}

Result<Types> infer_elementwise(const Call& c) {
  Exprs x;
  Shape shape;
  bool ranked = true;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has(i)) {
      x.emplace_back();
      continue;
    }
    x.push_back(Expr::input(i, c.in(i).dtype()));
    ranked = ranked && c.in(i).ranked();
    if (ranked) shape = TENON_TRY(broadcast(shape, c.in(i).shape()));
  }
  const DType dtype = c.op().scalar(c, x).dtype();
  return Types{ranked ? Type(dtype, std::move(shape)) : Type::unranked(dtype)};
}

Cost cost_elementwise(const Call& c) {
  Exprs x;
  for (int i = 0; i < c.num_inputs(); ++i)
    x.push_back(c.has(i) ? Expr::input(i, c.in(i).dtype()) : Expr());
  return {c.out(0).count() * Dim(c.op().scalar(c, x).num_operations()), c.bytes_in(),
          c.bytes_out()};
}

Result<Factors> sharding_elementwise(const Call& c) { return factors("... -> ...").resolve(c); }

OpPage elementwise(Elementwise e) {
  OpPage page;
  page.name = e.name;
  page.doc = e.doc;
  page.inputs = std::move(e.inputs);
  page.attrs = std::move(e.attrs);
  page.traits = std::move(e.traits);
  page.infer = infer_elementwise;
  page.scalar = std::move(e.scalar);
  page.decompose = none("core: the scalar expression is the meaning");
  page.gradient = std::move(e.gradient);
  page.cost = cost_elementwise;
  page.sharding = sharding_elementwise;
  page.samples = std::move(e.samples);
  return page;
}

Cost cost_movement(const Call& c) { return {Dim(0), c.bytes_in(), c.bytes_out()}; }

Cost cost_of_decomposition(const Call& c) {
  // On a copy of the node alone: inputs of the same types, then the page's own recipe.
  Graph graph("cost");
  Dim flops(0);
  GraphBuilder builder(graph, table());
  Values inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has(i)) {
      inputs.push_back(nullptr);
      continue;
    }
    if (auto known = c.constant(i)) {
      inputs.push_back(builder.constant(*known));
      continue;
    }
    inputs.push_back(graph.add_input(fmt::format("x{}", i), c.in(i)));
    if (auto d = c.dims(i)) inputs.back()->set_contents(*d);
  }
  std::vector<std::unique_ptr<Graph>> regions;
  for (int i = 0; i < c.num_regions(); ++i) regions.push_back(c.region(i).clone());
  Values outs = builder.call(c.op(), inputs, c.node().attrs(), std::move(regions), c.num_outputs());
  Node* whole = outs.empty() ? nullptr : outs[0]->producer();
  if (whole && builder.status().ok()) c.op().decompose(builder, Call(*whole));
  for (Node* n : graph.nodes())
    if (n != whole && n->op().cost && builder.status().ok()) flops += n->op().cost(Call(*n)).flops;
  return {flops, c.bytes_in(), c.bytes_out()};
}

}  // namespace tenon::ops
