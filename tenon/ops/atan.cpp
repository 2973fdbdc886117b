// atan(x): the inverse tangent.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::atan(x[0]); }

// dx = dy / (1 + x^2)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.div(dys[0], g.add(g.square(c.value(0)), g.number(1, c.value(0))))};
}

}  // namespace

OpPage atan() {
  return elementwise({
      .name = "atan",
      .doc = "y = angle in [-pi/2, pi/2] whose tangent is x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3), sample({{4}}).all(DType::f16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
