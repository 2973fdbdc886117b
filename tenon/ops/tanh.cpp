// tanh(x): the hyperbolic tangent.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::tanh(x[0]); }

// dx = dy * (1 - y^2)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.sub(g.number(1, c.value(0)), g.square(c.result(0))))};
}

}  // namespace

OpPage tanh() {
  return elementwise({
      .name = "tanh",
      .doc = "y = (e^x - e^-x) / (e^x + e^-x)",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2), sample({{4}}).all(DType::f16).range(-9, 9),
                  sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
