// reciprocal(x): one over x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return 1.0 / x[0]; }

// dx = -dy y^2; at x = 0 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.chain(dys[0], g.neg(g.square(c.result(0))))};
}

}  // namespace

OpPage reciprocal() {
  return elementwise({
      .name = "reciprocal",
      .doc = "y = 1 / x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(0.5, 2), sample({{2, 3}}).range(-2, -0.5),
                  sample({{2, 4}}).all(DType::bf16).range(1, 4)},
  });
}

}  // namespace tenon::ops
