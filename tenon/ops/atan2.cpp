// atan2(a, b): the angle of a point.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::atan2(x[0], x[1]); }

// da = dy b / (a^2 + b^2), db = -dy a / (a^2 + b^2); 0 at the origin, where the angle has no
// derivative
Values gradient(B g, const Call& c, const Values& dys) {
  Value *a = c.value(0), *b = c.value(1), *zero = g.number(0, a),
        *r2 = g.add(g.square(a), g.square(b));
  Value *at_origin = g.equal(r2, zero),
        *scale = g.masked(g.logical_not(at_origin),
                          g.div(dys[0], g.where(at_origin, g.number(1, a), r2)));
  return {g.sum_to(g.mul(scale, b), a), g.sum_to(g.neg(g.mul(scale, a)), b)};
}

}  // namespace

OpPage atan2() {
  return elementwise({
      .name = "atan2",
      .doc = "y = angle in [-pi, pi] of the point (b, a), with broadcasting",
      .inputs = {{"a", kFloat}, {"b", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}).range_of(0, 0.2, 1),
                  sample({{2, 3, 4}, {3, 1}}).range_of(1, -2, -1),
                  rejects({{2, 3}, {4}}, "do not broadcast")},
  });
}

}  // namespace tenon::ops
