// mul(a, b): the product, element by element.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return x[0] * x[1]; }

// y = a * b  =>  da = dy * b, db = dy * a
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.sum_to(g.mul(dys[0], c.value(1)), c.value(0)),
          g.sum_to(g.mul(dys[0], c.value(0)), c.value(1))};
}

}  // namespace

OpPage mul() {
  return elementwise({
      .name = "mul",
      .doc = "y = a * b, with broadcasting",
      .inputs = {{"a", kNumeric}, {"b", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}), sample({{2, 3, 4}, {3, 1}}), sample({{4}, {}}),
                  sample({{5}, {5}}).all(DType::i16).range(-100, 100),
                  rejects({{2, 3}, {4}}, "do not broadcast")},
      .traits = {Trait::commutative, Trait::associative},
  });
}

}  // namespace tenon::ops
