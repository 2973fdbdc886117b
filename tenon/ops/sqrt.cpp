// sqrt(x): the square root.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::sqrt(x[0]); }

// dx = dy / (2 y); at x = 0 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.quotient(dys[0], g.mul(c.result(0), g.number(2, c.result(0))))};
}

}  // namespace

OpPage sqrt() {
  return elementwise({
      .name = "sqrt",
      .doc = "y = square root of x; NaN below 0",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(0.1, 2), sample({{0}}),
                  sample({{4}}).all(DType::f16).range(0, 9)},
  });
}

}  // namespace tenon::ops
