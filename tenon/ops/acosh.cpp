// acosh(x): the inverse hyperbolic cosine.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::acosh(x[0]); }

// dx = dy / sqrt((x - 1)(x + 1)); at x = 1 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *one = g.number(1, x);
  return {g.quotient(dys[0], g.sqrt(g.mul(g.sub(x, one), g.add(x, one))))};
}

}  // namespace

OpPage acosh() {
  return elementwise({
      .name = "acosh",
      .doc = "y = number >= 0 whose hyperbolic cosine is x; NaN below 1",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(1.2, 4), sample({{4}}).all(DType::f16).range(1, 4)},
  });
}

}  // namespace tenon::ops
