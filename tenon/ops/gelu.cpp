// gelu(x; approximate): the Gaussian error linear unit.
#include <numbers>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// Hendrycks and Gimpel, "Gaussian error linear units", 2016
constexpr double kRoot = 0.79788456080286536, kCubic = 0.044715;  // kRoot = sqrt(2 / pi)

bool is_tanh(const Call& c) { return c.text("approximate") == "tanh"; }

Expr scalar(const Call& c, const Exprs& x) {
  if (is_tanh(c))
    return 0.5 * x[0] * (1.0 + scalar::tanh((x[0] + kCubic * x[0] * x[0] * x[0]) * kRoot));
  return 0.5 * x[0] * (1.0 + scalar::erf(x[0] * std::numbers::sqrt2 * 0.5));
}

// exact: dx = dy * (P + x p), P the normal distribution and p its density
// tanh:  dx = dy / 2 * (1 + t + x (1 - t^2) u'), t = tanh(u)
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *one = g.number(1, x), *half = g.number(0.5, x);
  if (is_tanh(c)) {
    Value* x2 = g.square(x);
    Value* t =
        g.tanh(g.mul(g.mul(x, g.add(g.mul(x2, g.number(kCubic, x)), one)), g.number(kRoot, x)));
    Value* inner = g.mul(g.add(g.mul(x2, g.number(3 * kCubic, x)), one), g.number(kRoot, x));
    Value* slope = g.add(g.add(one, t), g.mul(x, g.mul(g.sub(one, g.square(t)), inner)));
    return {g.mul(dys[0], g.mul(half, slope))};
  }
  Value* below = g.mul(half, g.add(one, g.erf(g.mul(x, g.number(std::numbers::sqrt2 / 2, x)))));
  Value* density = g.mul(g.exp(g.mul(g.square(x), g.number(-0.5, x))), g.number(kRoot / 2, x));
  return {g.mul(dys[0], g.add(below, g.mul(x, density)))};
}

}  // namespace

OpPage gelu() {
  return elementwise({
      .name = "gelu",
      .doc = "y = x * P(N < x) for a standard normal N; \"none\" by the error function, \"tanh\" "
             "by y = x (1 + "
             "tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2",
      .inputs = {{"x", kFloat}},
      .attrs = {{"approximate", "none"}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3),
                  sample({{2, 3}}).range(-3, 3).with({{"approximate", "tanh"}}),
                  sample({{4}}).all(DType::f16).range(-3, 3),
                  sample({{4}}).range(-50, 50).without_gradient("saturated")},
  });
}

}  // namespace tenon::ops
