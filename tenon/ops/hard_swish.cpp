// hard_swish(x): x gated by a line cut at 0 and 1.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) {
  return x[0] * scalar::max(scalar::like(x[0], 0),
                            scalar::min(scalar::like(x[0], 1), x[0] * (1.0 / 6) + 0.5));
}

// dx = 0 for x <= -3, dy (x / 3 + 1/2) between, dy for x >= 3
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *low = g.number(-3, x), *high = g.number(3, x);
  Value* slope = g.add(g.mul(x, g.number(1.0 / 3, x)), g.number(0.5, x));
  Value* inner = g.masked(g.less(low, x), g.mul(dys[0], slope));
  return {g.where(g.less(x, high), inner, dys[0])};
}

}  // namespace

OpPage hard_swish() {
  return elementwise({
      .name = "hard_swish",
      .doc = "y = x * max(0, min(1, x / 6 + 1/2))",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-6, 6).distinct(),
                  sample({{4}}).all(DType::f16).range(-4, 4)},
  });
}

}  // namespace tenon::ops
