// logical_and(a, b): whether both are true.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::logical_and(x[0], x[1]); }

}  // namespace

OpPage logical_and() {
  return elementwise({
      .name = "logical_and",
      .doc = "y = a and b, with broadcasting",
      .inputs = {{"a", kBool}, {"b", kBool}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{2, 3}, {2, 3}}).all(DType::boolean).range(0, 1),
                  sample({{2, 3, 4}, {3, 1}}).all(DType::boolean).range(0, 1),
                  rejects({{2, 3}, {4}}, "do not broadcast").all(DType::boolean)},
      .traits = {Trait::commutative, Trait::associative},
  });
}

}  // namespace tenon::ops
