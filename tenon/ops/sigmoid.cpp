// sigmoid(x): the logistic function.
#include "tenon/ops/gates.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return logistic(x[0]); }

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
      .samples = {sample({{2, 3}}).range(-3, 3),
                  sample({{4}}).range(-200, 200).without_gradient("saturated"),
                  sample({{4}}).all(DType::f16).range(-9, 9),
                  sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
