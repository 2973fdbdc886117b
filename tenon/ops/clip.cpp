// clip(x, min, max): values held between bounds.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) {
  Expr y = x[0];
  if (x.size() > 1 && x[1].defined()) y = scalar::max(y, x[1]);
  if (x.size() > 2 && x[2].defined()) y = scalar::min(y, x[2]);
  return y;
}

// dy goes to the one that y is: to x within the bounds and on them, to min below, to max above (and
// everywhere when min > max)
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *low = c.value(1), *high = c.value(2), *dy = dys[0];
  Value *dx = dy, *dlow = nullptr, *dhigh = nullptr;
  if (low) {
    dx = g.masked(g.less_equal(low, x), dx);
    Value* below = g.less(x, low);
    dlow = g.sum_to(g.masked(high ? g.logical_and(below, g.less(low, high)) : below, dy), low);
  }
  if (high) {
    dx = g.masked(g.less_equal(x, high), dx);
    Value* above = g.less(high, x);
    dhigh = g.sum_to(g.masked(low ? g.logical_or(above, g.less(high, low)) : above, dy), high);
  }
  Values dxs = {g.sum_to(dx, x), dlow, dhigh};
  dxs.resize(static_cast<std::size_t>(c.num_inputs()));
  return dxs;
}

}  // namespace

OpPage clip() {
  return elementwise({
      .name = "clip",
      .doc = "y = min(max(x, min), max), with broadcasting; an absent bound does not bind, a min "
             "above max "
             "gives max, NaN stays NaN",
      .inputs = {{"x", kNumeric}, maybe("min", kNumeric), maybe("max", kNumeric)},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {}, {}})
                      .range(-2, 2)
                      .distinct()
                      .range_of(1, -0.5, -0.5)
                      .range_of(2, 0.5, 0.5),
                  sample({{2, 3}, {}}).range(-2, 2).distinct().range_of(1, -0.5, -0.5),
                  sample({{2, 3}, {}, {}}).range(-2, 2).distinct().absent(1).range_of(2, 0.5, 0.5),
                  sample({{2, 3}}), sample({{4}, {}, {}}).range_of(1, 2, 2).range_of(2, 1, 1),
                  sample({{4}, {}, {}}).all(DType::i8).range(-9, 9),
                  sample({{2, 3}, {}, {}}).all(DType::f16)},
  });
}

}  // namespace tenon::ops
