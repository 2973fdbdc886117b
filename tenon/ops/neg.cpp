// neg(x): the negative.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return -x[0]; }

// y = -x  =>  dx = -dy
Values gradient(B g, const Call&, const Values& dys) { return {g.neg(dys[0])}; }

}  // namespace

OpPage neg() {
  return elementwise({
      .name = "neg",
      .doc = "y = -x; unsigned integers wrap",
      .inputs = {{"x", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}), sample({{4}}).all(DType::i8).range(-128, 127)},
  });
}

}  // namespace tenon::ops
