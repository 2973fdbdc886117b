// log1p(x): the logarithm of 1 + x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::log1p(x[0]); }

// dx = dy / (1 + x); at x = -1 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.quotient(dys[0], g.add(c.value(0), g.number(1, c.value(0))))};
}

}  // namespace

OpPage log1p() {
  return elementwise({
      .name = "log1p",
      .doc = "y = natural logarithm of 1 + x, exact for small x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-0.5, 2), sample({{4}}).all(DType::f16).range(0, 9)},
  });
}

}  // namespace tenon::ops
