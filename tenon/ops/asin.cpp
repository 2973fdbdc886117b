// asin(x): the inverse sine.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::asin(x[0]); }

// dx = dy / sqrt((1 - x)(1 + x)); at x = 1 and -1 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *one = g.number(1, x);
  return {g.quotient(dys[0], g.sqrt(g.mul(g.sub(one, x), g.add(one, x))))};
}

}  // namespace

OpPage asin() {
  return elementwise({
      .name = "asin",
      .doc = "y = angle in [-pi/2, pi/2] whose sine is x; NaN beyond 1",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-0.9, 0.9), sample({{4}}).all(DType::f16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
