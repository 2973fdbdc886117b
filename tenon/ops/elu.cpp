// elu(x; alpha): the exponential linear unit.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return scalar::select(x[0] < 0, scalar::expm1(x[0]) * c.real("alpha"), x[0]);
}

// dx = dy for x > 0, alpha e^x dy at and below 0; the cut keeps e^x finite where it is not used
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *zero = g.number(0, x);
  Value* below = g.mul(g.exp(g.min(x, zero)), g.number(c.real("alpha"), x));
  return {g.where(g.less(zero, x), dys[0], g.mul(dys[0], below))};
}

}  // namespace

OpPage elu() {
  return elementwise({
      .name = "elu",
      .doc = "y = x for x >= 0, alpha (e^x - 1) below",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 1.0}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2).distinct(),
                  sample({{2, 3}}).with({{"alpha", 2.0}}).distinct(),
                  sample({{4}}).all(DType::f16).range(-3, 3)},
  });
}

}  // namespace tenon::ops
