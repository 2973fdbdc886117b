// thresholded_relu(x; alpha): x above a threshold, else 0.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return scalar::select(x[0] > c.real("alpha"), x[0], scalar::like(x[0], 0));
}

// dx = dy for x > alpha, else 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.masked(g.less(g.number(c.real("alpha"), c.value(0)), c.value(0)), dys[0])};
}

}  // namespace

OpPage thresholded_relu() {
  return elementwise({
      .name = "thresholded_relu",
      .doc = "y = x for x > alpha, else 0",
      .inputs = {{"x", kFloat}},
      .attrs = {{"alpha", 1.0}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2, 2).distinct(),
                  sample({{2, 3}}).range(-4, 4).with({{"alpha", 2.0}}).distinct()},
  });
}

}  // namespace tenon::ops
