// log(x): the natural logarithm.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::log(x[0]); }

// dx = dy / x; at x = 0 it is infinite, and 0 where dy is 0
Values gradient(B g, const Call& c, const Values& dys) { return {g.quotient(dys[0], c.value(0))}; }

}  // namespace

OpPage log() {
  return elementwise({
      .name = "log",
      .doc = "y = natural logarithm of x; -infinity at 0, NaN below",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(0.5, 3), sample({{4}}).all(DType::f16).range(0.1, 9)},
  });
}

}  // namespace tenon::ops
