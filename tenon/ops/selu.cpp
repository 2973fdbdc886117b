// selu(x; alpha, gamma): the self-normalising exponential linear unit.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return scalar::select(x[0] <= 0, scalar::expm1(x[0]) * c.real("alpha"), x[0]) * c.real("gamma");
}

// dx = gamma dy for x > 0, gamma alpha e^x dy at and below 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *zero = g.number(0, x);
  Value* below = g.mul(g.exp(g.min(x, zero)), g.number(c.real("alpha"), x));
  Value* slope = g.where(g.less(zero, x), g.number(1, x), below);
  return {g.mul(dys[0], g.mul(slope, g.number(c.real("gamma"), x)))};
}

}  // namespace

OpPage selu() {
  return elementwise({
      .name = "selu",
      .doc = "y = gamma x for x > 0, gamma alpha (e^x - 1) below",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 1.6732631921768188}, {"gamma", 1.0507010221481323}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2).distinct(),
                  sample({{2, 3}}).with({{"alpha", 2.0}, {"gamma", 3.0}}).distinct(),
                  sample({{4}}).all(DType::f16).range(-3, 3)},
  });
}

}  // namespace tenon::ops
