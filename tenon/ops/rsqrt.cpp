// rsqrt(x): one over the square root.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return 1.0 / scalar::sqrt(x[0]); }

// dx = -dy y^3 / 2; at x = 0 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *y = c.result(0), *slope = g.mul(g.mul(y, g.mul(y, y)), g.number(-0.5, y));
  return {g.chain(dys[0], slope)};
}

}  // namespace

OpPage rsqrt() {
  return elementwise({
      .name = "rsqrt",
      .doc = "y = 1 / square root of x; infinity at 0, NaN below",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(0.3, 2), sample({{4}}).all(DType::f16).range(0.1, 9)},
  });
}

}  // namespace tenon::ops
