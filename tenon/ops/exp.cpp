// exp(x): e to the power of x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::exp(x[0]); }

// y = e^x  =>  dx = dy * y; where y is infinite and dy is 0, 0
Values gradient(B g, const Call& c, const Values& dys) { return {g.chain(dys[0], c.result(0))}; }

}  // namespace

OpPage exp() {
  return elementwise({
      .name = "exp",
      .doc = "y = e^x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}), sample({{}}), sample({{0}})},
  });
}

}  // namespace tenon::ops
