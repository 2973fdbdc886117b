// round(x): the nearest integer, ties to the even one.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::round_even(x[0]); }

// A staircase: 0 wherever it has a derivative, and 0 at the steps.
Values gradient(B, const Call&, const Values&) { return {nullptr}; }

}  // namespace

OpPage round() {
  return elementwise({
      .name = "round",
      .doc = "y = the nearest integer; halves go to the even neighbour",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-2.5, 3.5).distinct(),
                  sample({{4}}).all(DType::f16).range(-9, 9), sample({{}})},
  });
}

}  // namespace tenon::ops
