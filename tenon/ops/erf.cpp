// erf(x): the error function.
#include <numbers>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::erf(x[0]); }

// dx = dy * 2 / sqrt(pi) * e^(-x^2)
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *bell = g.exp(g.neg(g.square(x)));
  return {g.mul(dys[0], g.mul(bell, g.number(2 / std::sqrt(std::numbers::pi), x)))};
}

}  // namespace

OpPage erf() {
  return elementwise({
      .name = "erf",
      .doc = "y = 2 / sqrt(pi) * integral of e^(-t^2) from 0 to x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2), sample({{4}}).all(DType::f16).range(-3, 3)},
  });
}

}  // namespace tenon::ops
