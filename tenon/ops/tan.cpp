// tan(x): the tangent.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::tan(x[0]); }

// dx = dy * (1 + y^2)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.add(g.square(c.result(0)), g.number(1, c.value(0))))};
}

}  // namespace

OpPage tan() {
  return elementwise({
      .name = "tan",
      .doc = "y = tangent of x, in radians",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-1.2, 1.2), sample({{4}}).all(DType::f16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
