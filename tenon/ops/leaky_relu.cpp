// leaky_relu(x; alpha): x, scaled below zero.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return scalar::select(x[0] < 0, x[0] * c.real("alpha"), x[0]);
}

// dx = dy for x > 0, alpha dy at and below 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *scaled = g.mul(dys[0], g.number(c.real("alpha"), x));
  return {g.where(g.less(g.number(0, x), x), dys[0], scaled)};
}

}  // namespace

OpPage leaky_relu() {
  return elementwise({
      .name = "leaky_relu",
      .doc = "y = x for x >= 0, alpha x below",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 0.01}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2).distinct(),
                  sample({{2, 3}}).with({{"alpha", 0.1}}).distinct(),
                  sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
