// sinh(x): the hyperbolic sine.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::sinh(x[0]); }

// dx = dy * cosh(x)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.chain(dys[0], g.cosh(c.value(0)))};
}

}  // namespace

OpPage sinh() {
  return elementwise({
      .name = "sinh",
      .doc = "y = (e^x - e^-x) / 2",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2), sample({{4}}).all(DType::f16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
