// not_equal(a, b): whether a differs from b, element by element.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::logical_not(scalar::equal(x[0], x[1])); }

}  // namespace

OpPage not_equal() {
  return elementwise({
      .name = "not_equal",
      .doc = "y = whether a != b, with broadcasting; true when either is NaN",
      .inputs = {{"a", kNumeric | kBool}, {"b", kNumeric | kBool}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{2, 3}, {3}}), sample({{4}, {4}}).all(DType::i32).range(0, 2),
                  sample({{4}, {}}).all(DType::boolean).range(0, 1),
                  rejects({{2}, {3}}, "do not broadcast")},
      .traits = {Trait::commutative},
  });
}

}  // namespace tenon::ops
