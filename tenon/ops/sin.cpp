// sin(x): the sine.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::sin(x[0]); }

// dx = dy * cos(x)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.cos(c.value(0)))};
}

}  // namespace

OpPage sin() {
  return elementwise({
      .name = "sin",
      .doc = "y = sine of x, in radians",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-4, 4), sample({{4}}).all(DType::f16).range(-4, 4)},
  });
}

}  // namespace tenon::ops
