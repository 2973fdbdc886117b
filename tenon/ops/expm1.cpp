// expm1(x): e to the power of x, less 1.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::expm1(x[0]); }

// y = e^x - 1  =>  dx = dy * (y + 1); where y is infinite and dy is 0, 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.chain(dys[0], g.add(c.result(0), g.number(1, c.result(0))))};
}

}  // namespace

OpPage expm1() {
  return elementwise({
      .name = "expm1",
      .doc = "y = e^x - 1, exact for small x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}), sample({{4}}).all(DType::f16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
