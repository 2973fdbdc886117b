// shrink(x; bias, lambd): values moved toward 0, small ones to 0.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  const DType type = x[0].dtype();
  const Expr v = is_floating(type) ? x[0] : scalar::cast(x[0], DType::f64);
  const double bias = c.real("bias"), lambd = c.real("lambd");
  const Expr above = scalar::select(v > lambd, v - bias, scalar::like(v, 0));
  return scalar::cast(scalar::select(v < -lambd, v + bias, above), type);
}

// dx = dy where |x| > lambd, else 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value* limit = g.number(c.real("lambd"), c.value(0));
  return {g.masked(g.less(limit, g.abs(c.value(0))), dys[0])};
}

}  // namespace

OpPage shrink() {
  return elementwise({
      .name = "shrink",
      .doc = "y = x + bias below -lambd, x - bias above lambd, else 0; integers compute as f64",
      .inputs = {{"x", kNumeric}},
      .attrs = {{"bias", 0.0}, {"lambd", 0.5}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-1, 1).distinct(),
                  sample({{2, 3}}).range(-4, 4).with({{"bias", 1.5}, {"lambd", 1.5}}).distinct(),
                  sample({{6}}).all(DType::i32).range(-4, 4).with({{"bias", 1.5}, {"lambd", 1.5}})},
  });
}

}  // namespace tenon::ops
