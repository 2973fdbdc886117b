// ceil(x): the smallest integer not below x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::ceil(x[0]); }

// A staircase: 0 wherever it has a derivative, and 0 at the steps.
Values gradient(B, const Call&, const Values&) { return {nullptr}; }

}  // namespace

OpPage ceil() {
  return elementwise({
      .name = "ceil",
      .doc = "y = the smallest integer >= x",
      .inputs = {{"x", kFloat}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-3, 3).distinct(),
                  sample({{4}}).all(DType::f16).range(-9, 9), sample({{}})},
  });
}

}  // namespace tenon::ops
