// sign(x): -1, 0 or 1.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::sign(x[0]); }

// A staircase: 0 wherever it has a derivative, and 0 at the step.
Values gradient(B, const Call&, const Values&) { return {nullptr}; }

}  // namespace

OpPage sign() {
  return elementwise({
      .name = "sign",
      .doc = "y = -1, 0 or 1 as x is below, at or above 0; NaN stays NaN",
      .inputs = {{"x", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).range(-1, 1).distinct(),
                  sample({{4}}).all(DType::i8).range(-2, 2),
                  sample({{4}}).all(DType::u64).range(0, 2)},
  });
}

}  // namespace tenon::ops
