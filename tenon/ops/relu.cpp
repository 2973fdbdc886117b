// relu(x): the positive part.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::max(x[0], scalar::like(x[0], 0)); }

// dx = dy where x > 0, else 0; at the kink x = 0 the gradient is 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.masked(g.less(g.number(0, c.value(0)), c.value(0)), dys[0])};
}

}  // namespace

OpPage relu() {
  return elementwise({
      .name = "relu",
      .doc = "y = max(x, 0); NaN stays NaN",
      .inputs = {{"x", kFloat | kSigned}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).distinct(), sample({{4}}).all(DType::i32).range(-9, 9)},
  });
}

}  // namespace tenon::ops
