// logical_not(x): the opposite truth.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::logical_not(x[0]); }

}  // namespace

OpPage logical_not() {
  return elementwise({
      .name = "logical_not",
      .doc = "y = not x",
      .inputs = {{"x", kBool}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{2, 3}}).all(DType::boolean).range(0, 1)},
  });
}

}  // namespace tenon::ops
