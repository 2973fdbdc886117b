// greater(a, b): whether a > b, element by element.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return x[0] > x[1]; }

}  // namespace

OpPage greater() {
  return elementwise({
      .name = "greater",
      .doc = "y = a > b, with broadcasting; false when either is NaN",
      .inputs = {{"a", kNumeric}, {"b", kNumeric}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{2, 3}, {3}}), sample({{4}, {4}}).all(DType::u64).range(0, 3),
                  sample({{4}, {}}).all(DType::i8).range(-2, 2),
                  rejects({{2}, {3}}, "do not broadcast")},
  });
}

}  // namespace tenon::ops
