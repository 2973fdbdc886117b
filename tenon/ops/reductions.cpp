// Axes, shapes and sharding of reductions.
#include "tenon/ops/reductions.h"

#include <algorithm>
#include <limits>

namespace tenon::ops {
namespace {

// What any value of the type beats.
template <class W>
W worst(DType d, bool largest) {
  if constexpr (std::is_same_v<W, double>) {
    const double least = -std::numeric_limits<double>::infinity();
    return largest ? least : -least;
  }
  const int bits = d == DType::boolean ? 1 : bits_of(d);
  const bool has_sign = class_of(d) == DTypeClass::signed_integer;
  if (largest) return has_sign ? static_cast<W>(~std::uint64_t{0} << (bits - 1)) : 0;
  return static_cast<W>(~std::uint64_t{0} >> (64 - bits + (has_sign ? 1 : 0)));
}

}  // namespace

Result<std::optional<std::vector<int>>> reduced_axes(const Call& c) {
  const int ndim = c.in(0).ndim();
  std::vector<int> axes;
  const bool has_axes = c.has(1);
  auto known = has_axes ? c.known_integers(1) : std::optional(std::vector<std::int64_t>{});
  if (!known) return std::optional<std::vector<int>>();
  for (std::int64_t a : *known) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  std::sort(axes.begin(), axes.end());
  TENON_EXPECT(std::adjacent_find(axes.begin(), axes.end()) == axes.end(),
               "every axis is named once", c.in(0));
  if (axes.empty() && !c.flag("noop_with_empty_axes"))
    for (int i = 0; i < ndim; ++i) axes.push_back(i);
  return std::optional(axes);
}

Result<Types> infer_reduction(const Call& c) {
  const Type& x = c.in(0);
  const bool keep = c.flag("keepdims");
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  auto axes = TENON_TRY(reduced_axes(c));
  if (!axes) {
    if (!keep) return Types{Type::unranked(x.dtype())};
    Shape unknown;
    for (int i = 0; i < x.ndim(); ++i) unknown.push_back(c.fresh_dim(fmt::format("d{}", i)));
    return Types{Type(x.dtype(), std::move(unknown))};
  }
  Shape out;
  for (int i = 0; i < x.ndim(); ++i) {
    if (!std::binary_search(axes->begin(), axes->end(), i))
      out.push_back(x.dim(i));
    else if (keep)
      out.push_back(Dim(1));
  }
  return Types{Type(x.dtype(), std::move(out))};
}

Value* with_reduced_axes(B g, const Call& c, Value* y) {
  if (c.flag("keepdims") || !y) return y;
  auto axes = reduced_axes(c);
  if (!axes.ok() || !*axes) {
    g.builder().fail(unsupported("{}: the gradient needs axes that are known", c.op().name));
    return y;
  }
  std::vector<std::int64_t> wide_axes((*axes)->begin(), (*axes)->end());
  return wide_axes.empty() ? y : g.unsqueeze(y, g.ints(wide_axes));
}

Result<Factors> sharding_reduction(const Call& c, std::string_view how) {
  Factors f;
  auto axes = TENON_TRY(reduced_axes(c));
  std::vector<std::string> in, out;
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    const std::string name = fmt::format("d{}", i);
    const bool folded = !axes || std::binary_search(axes->begin(), axes->end(), i);
    in.push_back(folded && how.empty() ? "" : name);
    if (!folded)
      out.push_back(name);
    else if (c.flag("keepdims"))
      out.emplace_back("");
    if (folded && !how.empty()) f.reductions.emplace(name, how);
  }
  f.inputs = {in};
  if (c.num_inputs() > 1) f.inputs.emplace_back(c.has(1) ? 1 : 0, "");
  f.outputs = {out};
  return f;
}

Cost cost_reduction(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

namespace {

Result<Datums> eval_extreme(const EvalCall& e, bool largest) {
  const auto axes = *TENON_TRY(reduced_axes(e.call));
  const DType d = e.in(0).dtype();
  return visit_real(d, [&](auto w) {
    using W = decltype(w);
    const Fold<W> fold = {worst<W>(d, largest),
                          [d, largest](W a, W b) { return beats(b, a, d, largest) ? b : a; }};
    return Datums{Datum(reduce<W>(e.in(0), axes, e.call.flag("keepdims"), fold))};
  });
}

// dx = dy where x is the extreme; ties share dy equally
Values gradient_extreme(B g, const Call& c, const Values& dys) {
  Value *y = with_reduced_axes(g, c, c.result(0)), *dy = with_reduced_axes(g, c, dys[0]);
  Value* hit = g.equal(c.value(0), y);
  Attrs kept = c.node().attrs();
  kept.set("keepdims", true);
  Value* ties = g.reduce_sum(reduction_args(c, g.cast_to(hit, c.in(0).dtype())), kept);
  return {g.masked(hit, g.div(dy, ties)), nullptr};
}

}  // namespace

OpPage reduce_extreme(std::string_view name, std::string_view doc, bool largest) {
  OpPage p = reduction(name, doc, kNumeric | kBool, largest ? "max" : "min");
  p.eval = [largest](const EvalCall& e) { return eval_extreme(e, largest); };
  p.decompose = none("core");
  p.gradient = gradient_extreme;
  p.samples = {sample({{2, 3, 4}}).distinct(),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).distinct(),
               sample({{2, 3, 4}, {2}})
                   .known(1, Tensor::vector<std::int64_t>({-1, 0}))
                   .with({{"keepdims", false}})
                   .distinct(),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}).distinct(),
               sample({{3, 0}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .without_gradient("no element"),
               sample({{4}}).all(DType::u8).range(0, 255),
               sample({{2, 2}}).all(DType::boolean).range(0, 1),
               sample({{0}}).all(DType::i32),
               sample({{4}}).all(DType::f16)};
  return p;
}

Values reduction_args(const Call& c, Value* x) { return {x, c.value(1)}; }

Value* widened(B g, Value* x) {
  const DType d = x->type().dtype();
  return g.cast_to(x, !is_floating(d) ? DType::f64 : bits_of(d) < 32 ? DType::f32 : d);
}

Value* folded_count(B g, const Call& c, DType dtype) {
  auto axes = reduced_axes(c);
  if (!axes.ok()) {
    g.builder().fail(std::move(axes).error());
    return nullptr;
  }
  // Axes that only the run knows may be none, which means all: counted by summing ones.
  if (!*axes)
    return g.reduce_sum(reduction_args(c, g.expand(g.number(1, dtype), g.shape(c.value(0)))),
                        c.node().attrs());
  Dim count(1);
  for (int a : **axes) count *= c.in(0).dim(a);
  if (auto known = count.known()) return g.number(static_cast<double>(*known), dtype);
  Value* at = g.ints(std::vector<std::int64_t>((*axes)->begin(), (*axes)->end()));
  return g.cast_to(g.reduce_prod(g.gather(g.shape(c.value(0)), at), Attrs{{"keepdims", false}}),
                   dtype);
}

OpPage reduction(std::string_view name, std::string_view doc, TypeSet types, std::string_view how) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.inputs = reduction_inputs(types);
  p.attrs = reduction_attrs();
  p.traits = {Trait::reduction};
  p.infer = infer_reduction;
  p.cost = cost_reduction;
  p.sharding = [how](const Call& c) { return sharding_reduction(c, how); };
  return p;
}

std::vector<InputSpec> reduction_inputs(TypeSet types) {
  return {{"x", types}, maybe("axes", kIndex, "I")};
}
std::vector<AttrSpec> reduction_attrs() {
  return {{"keepdims", true}, {"noop_with_empty_axes", false}};
}

}  // namespace tenon::ops
