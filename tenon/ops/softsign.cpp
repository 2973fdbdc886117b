// softsign(x): x over 1 + |x|.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return x[0] / (1.0 + scalar::abs(x[0])); }

// dx = dy / (1 + |x|)^2
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *below = g.add(g.abs(x), g.number(1, x));
  return {g.div(dys[0], g.square(below))};
}

}  // namespace

OpPage softsign() {
  return elementwise({
      .name = "softsign",
      .doc = "y = x / (1 + |x|)",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3).distinct(),
                  sample({{4}}).all(DType::f16).range(-9, 9)},
  });
}

}  // namespace tenon::ops
