// The logistic function and the pages that gate x with it.
#include "tenon/ops/gates.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) { return x[0] * logistic(x[0] * c.real("alpha")); }

// dx = dy * s * (1 + alpha x (1 - s)), s = sigmoid(alpha x)
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *alpha = g.number(c.real("alpha"), x), *one = g.number(1, x);
  Value* s = g.sigmoid(g.mul(x, alpha));
  Value* slope = g.mul(s, g.add(one, g.mul(g.mul(x, alpha), g.sub(one, s))));
  return {g.mul(dys[0], slope)};
}

}  // namespace

Expr logistic(const Expr& x) {
  const Expr e = scalar::exp(-scalar::abs(x));
  return scalar::select(x >= 0, scalar::like(x, 1), e) / (1.0 + e);
}

OpPage sigmoid_gate(std::string_view name, std::string_view doc, double alpha) {
  return elementwise({
      .name = name,
      .doc = doc,
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", alpha}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3), sample({{2, 3}}).with({{"alpha", 0.5}}),
                  sample({{4}}).all(DType::f16).range(-3, 3),
                  sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
