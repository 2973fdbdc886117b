// reshape(x, shape): the same elements in row-major order under other sizes.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// -1 takes what is left; 0 copies x's size unless `allow_zero`.
Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  auto wanted = c.dims(1);
  if (!wanted) {
    const auto n = c.in(1).ranked() && c.in(1).ndim() == 1 ? c.in(1).dim(0).known() : std::nullopt;
    if (!n) return Types{Type::unranked(x.dtype())};
    Shape unknown;
    for (std::int64_t i = 0; i < *n; ++i) unknown.push_back(c.fresh_dim(fmt::format("d{}", i)));
    return Types{Type(x.dtype(), unknown)};
  }
  Shape out;
  int open = -1;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const Dim& d = (*wanted)[i];
    if (d == Dim(-1)) {
      TENON_EXPECT(open < 0, "at most one size of shape is -1", x);
      open = static_cast<int>(i);
      out.emplace_back(1);
    } else if (d == Dim(0) && !c.flag("allow_zero")) {
      if (!x.ranked()) {
        out.push_back(c.fresh_dim(fmt::format("d{}", i)));
        continue;
      }
      TENON_EXPECT(static_cast<int>(i) < x.ndim(), "a size of 0 copies an axis that x has", x);
      out.push_back(x.dim(static_cast<int>(i)));
    } else {
      TENON_EXPECT(at_least(d, 0) != Truth::no, "sizes of shape are >= 0, or -1 once", x);
      out.push_back(d);
    }
  }
  if (!x.ranked()) {
    if (open >= 0) out[static_cast<std::size_t>(open)] = c.fresh_dim("rest");
    return Types{Type(x.dtype(), out)};
  }
  const Dim have = x.count(), want = num_elements(out);
  if (open < 0) {
    TENON_EXPECT_SAME(have, want, "x.count == shape.count");
    return Types{x.with_shape(out)};
  }
  TENON_EXPECT(!(want == Dim(0)), "-1 has a size when other sizes are not 0", x);
  if (have.is_constant() && want.is_constant())
    TENON_EXPECT(have.value() % want.value() == 0, "x.count divides by shape.count", x);
  out[static_cast<std::size_t>(open)] = floor_div(have, want);
  return Types{x.with_shape(out)};
}

Result<Datums> eval(const EvalCall& e) {
  auto types = TENON_TRY(e.call.op().infer(e.call));
  return Datums{Datum(e.in(0).reshaped(*constant_dims(types[0].shape())))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.reshape_like(dys[0], c.value(0)), nullptr};
}

// Leading axes that are the same on both sides go through; the rest stays whole. The shape input
// names whole sizes, so a plan that splits an axis rewrites it.
Result<Factors> sharding(const Call& c) {
  std::vector<std::string> in(static_cast<std::size_t>(c.in(0).ndim()), ""),
      out(static_cast<std::size_t>(c.out(0).ndim()), "");
  Factors f;
  for (int i = 0; i < c.in(0).ndim() && i < c.out(0).ndim() && c.in(0).dim(i) == c.out(0).dim(i);
       ++i) {
    in[static_cast<std::size_t>(i)] = out[static_cast<std::size_t>(i)] = fmt::format("d{}", i);
    f.whole_factors.push_back(fmt::format("d{}", i));
  }
  f.inputs = {in, {""}};
  f.outputs = {out};
  return f;
}

}  // namespace

OpPage reshape() {
  OpPage p = movement("reshape",
                      "x's elements in row-major order under `shape`; -1 takes what is left, 0 "
                      "copies x's size unless `allow_zero`");
  p.inputs = {{"x", kAny}, {"shape", kIndex, "I"}};
  p.attrs = {{"allow_zero", false}};
  p.traits.push_back(Trait::view);
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{2, 3, 4}, {2}}).known(1, Tensor::vector<std::int64_t>({6, 4})),
      sample({{2, 3, 4}, {2}}).known(1, Tensor::vector<std::int64_t>({0, -1})),
      sample({{1}, {0}}).known(1, Tensor::vector<std::int64_t>({})),
      sample({{0, 3}, {2}})
          .known(1, Tensor::vector<std::int64_t>({3, 0}))
          .with({{"allow_zero", true}}),
      rejects({{2, 3}, {1}}, "x.count is 6 but shape.count is 5")
          .known(1, Tensor::vector<std::int64_t>({5})),
      rejects({{2, 3}, {2}}, "at most one").known(1, Tensor::vector<std::int64_t>({-1, -1}))};
  return p;
}

}  // namespace tenon::ops
