// sigmoid(x): the logistic function.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// 1 / (1 + e^-x) = e^x / (1 + e^x): the form whose exponential does not grow
Expr scalar(const Call&, const Exprs& x) {
  const Expr e = scalar::exp(-scalar::abs(x[0]));
  return scalar::select(x[0] >= 0, scalar::like(x[0], 1), e) / (1.0 + e);
}

// dx = dy * y * (1 - y)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.mul(c.result(0), g.sub(g.number(1, c.result(0)), c.result(0))))};
}

}  // namespace

OpPage sigmoid() {
  return elementwise({
      .name = "sigmoid",
      .doc = "y = 1 / (1 + e^-x), without overflow and exact in both tails",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3), sample({{4}}).range(-200, 200).without_gradient("saturated"),
                  sample({{4}}).all(DType::f16).range(-9, 9), sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
