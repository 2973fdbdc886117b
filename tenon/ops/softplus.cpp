// softplus(x): a smooth positive part.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
Expr scalar(const Call&, const Exprs& x) {
  return scalar::max(x[0], scalar::like(x[0], 0)) + scalar::log1p(scalar::exp(-scalar::abs(x[0])));
}

// dx = dy * sigmoid(x)
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(dys[0], g.sigmoid(c.value(0)))};
}

}  // namespace

OpPage softplus() {
  return elementwise({
      .name = "softplus",
      .doc = "y = log(1 + e^x), without overflow",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3),
                  sample({{4}}).range(-200, 200).without_gradient("saturated"),
                  sample({{4}}).all(DType::f16).range(-9, 9)},
  });
}

}  // namespace tenon::ops
