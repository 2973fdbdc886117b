// abs(x): the magnitude.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::abs(x[0]); }

// dx = dy * sign(x); at the kink x = 0 the gradient is 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.sign(c.value(0)))};
}

}  // namespace

OpPage abs() {
  return elementwise({
      .name = "abs",
      .doc = "y = |x|; the most negative integer stays as it is",
      .inputs = {{"x", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-1, 1).distinct(),
                  sample({{4}}).all(DType::i8).range(-128, 127),
                  sample({{4}}).all(DType::u16).range(0, 9)},
  });
}

}  // namespace tenon::ops
