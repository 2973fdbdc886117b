// prelu(x, slope): x, scaled below zero by a learned slope.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// slope is stretched to x's shape, never x to slope's
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &slope = c.in(1);
  if (!x.ranked() || !slope.ranked()) return Types{x};
  TENON_EXPECT(slope.ndim() <= x.ndim(), "slope.ndim <= x.ndim", x, slope);
  for (int i = 1; i <= slope.ndim(); ++i)
    if (!(slope.dim(-i) == Dim(1)))
      TENON_EXPECT_SAME(slope.dim(-i), x.dim(-i), "slope.dim == x.dim");
  return Types{x};
}

Expr scalar(const Call&, const Exprs& x) { return scalar::select(x[0] < 0, x[0] * x[1], x[0]); }

// dx = dy for x > 0, slope dy at and below 0; dslope = x dy below 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *slope = c.value(1), *zero = g.number(0, x);
  Value* dx = g.where(g.less(zero, x), dys[0], g.mul(dys[0], slope));
  return {dx, g.sum_to(g.masked(g.less(x, zero), g.mul(dys[0], x)), slope)};
}

}  // namespace

OpPage prelu() {
  OpPage p = elementwise({
      .name = "prelu",
      .doc = "y = x for x >= 0, slope * x below; slope broadcasts to x's shape",
      .inputs = {{"x", kNumeric}, {"slope", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}).distinct(), sample({{2, 3, 4}, {3, 1}}).distinct(),
                  sample({{4}, {}}).distinct(), sample({{4}, {4}}).all(DType::i32).range(-9, 9),
                  rejects({{2, 3}, {4}}, "slope.dim is 4 but x.dim is 3"),
                  rejects({{3}, {2, 3}}, "slope.ndim <= x.ndim")},
  });
  p.infer = infer;
  return p;
}

}  // namespace tenon::ops
