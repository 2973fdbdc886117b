// compress(x, condition; axis): the slices that a condition keeps.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!c.has_attr("axis")) return Types{Type(x.dtype(), {c.fresh_dim("kept")})};
  if (!x.ranked()) return Types{x};
  return Types{x.with_dim(TENON_TRY(c.axis(c.integer("axis"), x.ndim())), c.fresh_dim("kept"))};
}

// Positions of the kept slices, as a 1-d value.
Value* kept(B g, const Call& c) { return g.reshape(g.non_zero(c.value(1)), g.ints({-1})); }

Values decompose(B g, const Call& c) {
  if (!c.has_attr("axis")) return {g.gather(g.reshape(c.value(0), g.ints({-1})), kept(g, c))};
  return {g.gather(c.value(0), kept(g, c), Attrs{{"axis", c.integer("axis")}})};
}

Result<Datums> eval(const EvalCall& e) {
  const bool flat = !e.call.has_attr("axis");
  const Tensor x = flat ? e.in(0).reshaped({e.in(0).count()}) : e.in(0);
  const int axis = flat ? 0 : TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim()));
  const auto condition = integers(e.in(1));
  std::vector<std::int64_t> from;
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i]) from.push_back(static_cast<std::int64_t>(i));
  if (!from.empty() && from.back() >= x.dim(axis))
    return invalid("compress: position {} is outside of an axis of {}", from.back(), x.dim(axis));
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(from.size());
  Tensor y(x.dtype(), dims);
  const std::int64_t inner = num_elements(Dims(x.dims().begin() + axis + 1, x.dims().end())),
                     outer = y.count() == 0 ? 0 : y.count() / (y.dim(axis) * inner);
  for (std::int64_t o = 0, to = 0; o < outer; ++o)
    for (const std::int64_t i : from)
      copy_run(x, (o * x.dim(axis) + i) * inner, y, to++ * inner, inner);
  return Datums{Datum(y)};
}

// The adjoint of the gather at the kept positions.
Values gradient(B g, const Call& c, const Values& dys) {
  if (c.has_attr("axis"))
    return {g.gather_adjoint(dys[0], kept(g, c), g.shape(c.value(0)),
                             Attrs{{"axis", c.integer("axis")}}),
            nullptr};
  Value* flat = g.gather_adjoint(dys[0], kept(g, c), g.reshape(g.size(c.value(0)), g.ints({1})));
  return {g.reshape_like(flat, c.value(0)), nullptr};
}

Result<Factors> sharding(const Call& c) {
  if (!c.has_attr("axis")) return all_whole(c);
  return axes_through(c, {TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()))});
}

}  // namespace

OpPage compress() {
  const auto bools = [](std::vector<std::int64_t> v) {
    return from_int64s(v, DType::boolean, {static_cast<std::int64_t>(v.size())});
  };
  return {
      .name = "compress",
      .doc =
          "the slices of x along `axis` (elements of the flattened x without it) where condition "
          "holds; a short condition leaves the rest out",
      .inputs = {{"x", kAny}, {"condition", kBool, "C"}},
      .attrs = {AttrSpec::optional("axis", Attr::Kind::integer)},
      .traits = {Trait::data_dependent},
      .infer = infer,
      .eval = eval,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_movement,
      .sharding = sharding,
      .samples = {
          sample({{4, 3}, {2}}).given(1, bools({0, 1})).with({{"axis", 1}}),
          sample({{4, 2}, {4}}).given(1, bools({1, 0, 1, 1})).with({{"axis", 0}}),
          sample({{2, 3}, {5}}).given(1, bools({0, 1, 0, 0, 1})),
          sample({{3}, {3}}).given(1, bools({0, 0, 0})).with({{"axis", -1}}),
          rejects({{2, 3}, {2}}, "axis 2 is outside").given(1, bools({0, 1})).with({{"axis", 2}})}};
}

}  // namespace tenon::ops
