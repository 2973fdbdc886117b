// celu(x; alpha): the continuously differentiable exponential linear unit.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  const Expr zero = scalar::like(x[0], 0);
  return scalar::max(zero, x[0]) +
         scalar::min(zero, scalar::expm1(x[0] / c.real("alpha")) * c.real("alpha"));
}

// dx = dy for x > 0, e^(x / alpha) dy at and below 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *zero = g.number(0, x);
  Value* below = g.exp(g.div(g.min(x, zero), g.number(c.real("alpha"), x)));
  return {g.where(g.less(zero, x), dys[0], g.mul(dys[0], below))};
}

}  // namespace

OpPage celu() {
  return elementwise({
      .name = "celu",
      .doc = "y = max(0, x) + min(0, alpha (e^(x / alpha) - 1))",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 1.0}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2).distinct(),
                  sample({{2, 3}}).with({{"alpha", 2.0}}).distinct()},
  });
}

}  // namespace tenon::ops
