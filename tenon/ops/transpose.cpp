// transpose(x; perm): axes in another order.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// perm, or all axes reversed.
Result<std::vector<std::int64_t>> perm_of(const Call& c, int ndim) {
  std::vector<std::int64_t> perm;
  if (c.has_attr("perm"))
    perm = c.integers("perm");
  else
    for (int i = ndim - 1; i >= 0; --i) perm.push_back(i);
  std::vector<bool> seen(static_cast<std::size_t>(ndim), false);
  for (std::int64_t& p : perm) {
    p = TENON_TRY(c.axis(p, ndim));
    TENON_EXPECT(!seen[static_cast<std::size_t>(p)], "perm names every axis once", c.in(0));
    seen[static_cast<std::size_t>(p)] = true;
  }
  TENON_EXPECT(static_cast<int>(perm.size()) == ndim, "perm names every axis once", c.in(0));
  return perm;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  Shape out;
  for (std::int64_t p : TENON_TRY(perm_of(c, x.ndim()))) out.push_back(x.dim(static_cast<int>(p)));
  return Types{x.with_shape(out)};
}

// y[i0, i1, ...] = x at index i_k on axis perm[k]
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const auto perm = TENON_TRY(perm_of(e.call, x.ndim()));
  const Dims own = row_major_strides(x.dims());
  Dims out, strides;
  for (std::int64_t p : perm) {
    out.push_back(x.dim(static_cast<int>(p)));
    strides.push_back(own[static_cast<std::size_t>(p)]);
  }
  return Datums{Datum(copy_strided(x, out, strides))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  auto perm = perm_of(c, c.in(0).ndim());
  if (!perm.ok()) return {nullptr};
  std::vector<std::int64_t> inverse(perm->size());
  for (std::size_t i = 0; i < perm->size(); ++i)
    inverse[static_cast<std::size_t>((*perm)[i])] = static_cast<std::int64_t>(i);
  return {g.transpose(dys[0], Attrs{{"perm", inverse}})};
}

Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs.resize(1);
  f.outputs.resize(1);
  for (int i = 0; i < c.in(0).ndim(); ++i) f.inputs[0].push_back(fmt::format("d{}", i));
  for (std::int64_t p : TENON_TRY(perm_of(c, c.in(0).ndim())))
    f.outputs[0].push_back(fmt::format("d{}", p));
  return f;
}

}  // namespace

OpPage transpose() {
  OpPage p =
      movement("transpose", "axis k of y is axis perm[k] of x; without perm all axes are reversed");
  p.inputs = {{"x", kAny}};
  p.attrs = {AttrSpec::optional("perm", Attr::Kind::integers)};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  const auto perm = [](std::vector<std::int64_t> v) { return Attrs{{"perm", std::move(v)}}; };
  p.samples = {sample({{2, 3}}), sample({{2, 3, 4}}).with(perm({1, 2, 0})), sample({{}}),
               sample({{0, 3}}),
               rejects({{2, 3}}, "perm names every axis once").with(perm({0, 0}))};
  return p;
}

}  // namespace tenon::ops
