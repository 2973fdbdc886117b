// cos(x): the cosine.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::cos(x[0]); }

// dx = -dy * sin(x)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.neg(g.mul(dys[0], g.sin(c.value(0))))};
}

}  // namespace

OpPage cos() {
  return elementwise({
      .name = "cos",
      .doc = "y = cosine of x, in radians",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-4, 4), sample({{4}}).all(DType::f16).range(-4, 4)},
  });
}

}  // namespace tenon::ops
