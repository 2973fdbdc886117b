// mish(x): x times the tanh of its softplus.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) {
  const Expr softplus =
      scalar::max(x[0], scalar::like(x[0], 0)) + scalar::log1p(scalar::exp(-scalar::abs(x[0])));
  return x[0] * scalar::tanh(softplus);
}

// dx = dy * (t + x (1 - t^2) sigmoid(x)), t = tanh(softplus(x))
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *t = g.tanh(g.softplus(x));
  Value* slope = g.add(t, g.mul(x, g.mul(g.sub(g.number(1, x), g.square(t)), g.sigmoid(x))));
  return {g.mul(dys[0], slope)};
}

}  // namespace

OpPage mish() {
  return elementwise({
      .name = "mish",
      .doc = "y = x * tanh(log(1 + e^x))",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3), sample({{4}}).all(DType::f16).range(-3, 3),
                  sample({{4}}).range(-200, 200).without_gradient("saturated")},
  });
}

}  // namespace tenon::ops
