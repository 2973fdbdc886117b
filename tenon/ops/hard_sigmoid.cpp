// hard_sigmoid(x; alpha, beta): a line cut at 0 and 1.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return scalar::max(scalar::like(x[0], 0),
                     scalar::min(scalar::like(x[0], 1), x[0] * c.real("alpha") + c.real("beta")));
}

// dx = alpha dy strictly between the cuts, else 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *y = c.result(0), *alpha = g.number(c.real("alpha"), x);
  Value* inside = g.logical_and(g.less(g.number(0, y), y), g.less(y, g.number(1, y)));
  return {g.masked(inside, g.mul(dys[0], alpha))};
}

}  // namespace

OpPage hard_sigmoid() {
  return elementwise({
      .name = "hard_sigmoid",
      .doc = "y = max(0, min(1, alpha x + beta))",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 0.2}, {"beta", 0.5}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-4, 4).distinct(),
                  sample({{2, 3}}).with({{"alpha", 0.5}, {"beta", 0.6}}),
                  sample({{4}}).all(DType::f16).range(-4, 4)},
  });
}

}  // namespace tenon::ops
