// div(a, b): the quotient, element by element; integers truncate toward zero.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return x[0] / x[1]; }

// y = a / b  =>  da = dy / b, db = -dy * y / b; 0 where dy and b are 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value *b = c.value(1),
        *silent = g.logical_and(g.equal(dys[0], g.number(0, b)), g.equal(b, g.number(0, b)));
  Value *da = g.div(dys[0], g.where(silent, g.number(1, b), b)),
        *y = g.where(silent, g.number(0, b), c.result(0));
  return {g.sum_to(da, c.value(0)), g.sum_to(g.neg(g.mul(da, y)), b)};
}

}  // namespace

OpPage div() {
  return elementwise({
      .name = "div",
      .doc =
          "y = a / b, with broadcasting; integer division truncates toward zero, by zero gives 0",
      .inputs = {{"a", kNumeric}, {"b", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}).range_of(1, 0.5, 2),
                  sample({{2, 3, 4}, {3, 1}}).range_of(1, 0.5, 2),
                  sample({{5}, {5}}).all(DType::i32).range(-100, 100).range_of(1, 1, 7),
                  rejects({{2, 3}, {4}}, "do not broadcast")},
  });
}

}  // namespace tenon::ops
