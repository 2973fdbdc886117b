// quick_gelu(x; alpha): x gated by a sigmoid near the normal distribution.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// sigmoid in the form whose exponential does not grow
Expr sigmoid(const Expr& x) {
  const Expr e = scalar::exp(-scalar::abs(x));
  return scalar::select(x >= 0, scalar::like(x, 1), e) / (1.0 + e);
}

Expr scalar(const Call& c, const Exprs& x) { return x[0] * sigmoid(x[0] * c.real("alpha")); }

// dx = dy * s * (1 + alpha x (1 - s)), s = sigmoid(alpha x)
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *alpha = g.number(c.real("alpha"), x), *one = g.number(1, x);
  Value* s = g.sigmoid(g.mul(x, alpha));
  Value* slope = g.mul(s, g.add(one, g.mul(g.mul(x, alpha), g.sub(one, s))));
  return {g.mul(dys[0], slope)};
}

}  // namespace

OpPage quick_gelu() {
  return elementwise({
      .name = "quick_gelu",
      .doc = "y = x * sigmoid(alpha x)",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 1.702}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3), sample({{2, 3}}).with({{"alpha", 0.5}}),
                  sample({{4}}).all(DType::f16).range(-3, 3), sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
