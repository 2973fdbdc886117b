// atanh(x): the inverse hyperbolic tangent.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::atanh(x[0]); }

// dx = dy / ((1 - x)(1 + x)); at x = 1 and -1 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *one = g.number(1, x);
  return {g.quotient(dys[0], g.mul(g.sub(one, x), g.add(one, x)))};
}

}  // namespace

OpPage atanh() {
  return elementwise({
      .name = "atanh",
      .doc = "y = number whose hyperbolic tangent is x; infinite at 1 and -1, NaN beyond",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-0.8, 0.8),
                  sample({{4}}).all(DType::f16).range(-0.9, 0.9)},
  });
}

}  // namespace tenon::ops
