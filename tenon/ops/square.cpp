// square(x): x times x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return x[0] * x[0]; }

// dx = 2 x dy
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.mul(c.value(0), g.number(2, c.value(0))))};
}

}  // namespace

OpPage square() {
  return elementwise({
      .name = "square",
      .doc = "y = x * x",
      .inputs = {{"x", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}), sample({{4}}).all(DType::i32).range(-9, 9),
                  sample({{2, 4}}).all(DType::bf16).range(-1, 1)},
  });
}

}  // namespace tenon::ops
