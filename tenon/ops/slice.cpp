// slice(x, starts, ends, axes, steps): every step-th element of a range, along some axes.
#include "tenon/ops/movements.h"
#include "tenon/ops/slices.h"

namespace tenon::ops {
namespace {

// The size of one cut with symbolic ends, for step 1: clamped length; a fresh dim when undecided.
Dim symbolic_count(const Call& c, int axis, Dim start, Dim end, std::int64_t step,
                   const Dim& size) {
  if (start.is_constant() && end.is_constant() && size.is_constant())
    return Dim(cut_of(start.value(), end.value(), step, size.value()).count);
  const auto normal = [&](Dim v, bool is_end) -> std::optional<Dim> {
    if (v.is_constant() && v.value() < 0)
      v = v.value() <= -(std::int64_t{1} << 31) ? Dim(0) : v + size;
    else if (v.is_constant() && is_end && v.value() >= (std::int64_t{1} << 31) - 1)
      v = size;
    if (v == size || at_least(v - size, 0) == Truth::yes) return size;
    if (at_least(v, 0) == Truth::yes && at_least(size, v) == Truth::yes) return v;
    if (at_least(v, 0) == Truth::yes) return min(v, size);
    return max(Dim(0), v);
  };
  if (step > 0) {
    auto s = normal(start, false), e = normal(end, true);
    return max(Dim(0), ceil_div(*e - *s, Dim(step)));
  }
  if (start == Dim(-1) && end.is_constant() && end.value() < -(std::int64_t{1} << 30))
    return ceil_div(size, Dim(-step));  // a whole axis backwards
  return c.fresh_dim(fmt::format("d{}", axis));
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  auto starts = c.dims(1), ends = c.dims(2),
       steps = c.has(4) ? c.dims(4) : std::optional<std::vector<Dim>>();
  const bool known_axes = !c.has(3) || c.known_integers(3);
  const auto n = c.in(1).ranked() && c.in(1).ndim() == 1 ? c.in(1).dim(0).known() : std::nullopt;
  if (!n || !known_axes) {  // any axis may be cut
    Shape unknown;
    for (int i = 0; i < x.ndim(); ++i) unknown.push_back(c.fresh_dim(fmt::format("d{}", i)));
    return Types{x.with_shape(unknown)};
  }
  const auto axes = TENON_TRY(cut_axes(c, 3, x.ndim(), static_cast<std::size_t>(*n)));
  Type out = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool all_known = starts && ends && (!c.has(4) || (steps && (*steps)[i].is_constant()));
    if (!all_known) {
      out = out.with_dim(axes[i], c.fresh_dim(fmt::format("d{}", axes[i])));
      continue;
    }
    TENON_EXPECT(i < starts->size() && i < ends->size(), "starts and ends have one length", x);
    const std::int64_t step = steps ? (*steps)[i].value() : 1;
    TENON_EXPECT(step != 0, "steps are not 0", x);
    out = out.with_dim(axes[i],
                       symbolic_count(c, axes[i], (*starts)[i], (*ends)[i], step, x.dim(axes[i])));
  }
  return Types{out};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const auto cuts = TENON_TRY(cuts_of(e.call, 1, x.dims()));
  Dims out, strides = row_major_strides(x.dims());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    out.push_back(cuts[i].count);
    offset += cuts[i].start * strides[i];
    strides[i] *= cuts[i].step;
  }
  return Datums{Datum(copy_strided(x, out, strides, offset))};
}

// The adjoint writes dy into zeros where the elements came from.
Values gradient(B g, const Call& c, const Values& dys) {
  Values args = {dys[0], g.shape(c.value(0)), c.value(1), c.value(2)};
  args.push_back(c.has(3) ? c.value(3) : nullptr);
  args.push_back(c.has(4) ? c.value(4) : nullptr);
  Values dxs = {g.slice_adjoint(args)};
  dxs.resize(static_cast<std::size_t>(c.num_inputs()), nullptr);
  return dxs;
}

// Axes that are not cut go through.
Result<Factors> sharding(const Call& c) {
  Factors f;
  std::vector<std::string> names;
  for (int i = 0; i < c.in(0).ndim(); ++i)
    names.push_back(c.in(0).dim(i) == c.out(0).dim(i) ? fmt::format("d{}", i) : "");
  const bool known = !c.has(3) || c.known_integers(3);
  if (known && c.in(1).dim(0).known())
    for (int a : TENON_TRY(
             cut_axes(c, 3, c.in(0).ndim(), static_cast<std::size_t>(c.in(1).dim(0).value()))))
      names[static_cast<std::size_t>(a)] = "";
  f.inputs.assign(static_cast<std::size_t>(c.num_inputs()), {""});
  f.inputs[0] = names;
  f.outputs = {names};
  return f;
}

}  // namespace

OpPage slice() {
  const auto v = [](std::vector<std::int64_t> x) { return Tensor::vector(x); };
  OpPage p = movement("slice",
                      "elements starts, starts + steps, ... before ends along `axes` (the first "
                      "ones by default); NumPy's rules for negative and large positions");
  p.inputs = {{"x", kAny},
              {"starts", kIndex, "I"},
              {"ends", kIndex, "I"},
              maybe("axes", kIndex, "A"),
              maybe("steps", kIndex, "S")};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{4, 5}, {1}, {1}}).known(1, v({1})).known(2, v({3})),
               sample({{4, 5}, {1}, {1}, {1}, {1}})
                   .known(1, v({-1}))
                   .known(2, v({-100}))
                   .known(3, v({1}))
                   .known(4, v({-2})),
               sample({{4, 5}, {2}, {2}, {2}})
                   .known(1, v({0, 1}))
                   .known(2, v({1000, -1}))
                   .known(3, v({0, -1})),
               sample({{4, 5}, {1}, {1}, {1}}).given(1, v({3})).given(2, v({1})).known(3, v({0})),
               rejects({{4}, {1}, {1}, {1}, {1}}, "steps are not 0")
                   .known(1, v({0}))
                   .known(2, v({1}))
                   .known(3, v({0}))
                   .known(4, v({0}))};
  return p;
}

}  // namespace tenon::ops
