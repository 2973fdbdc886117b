// is_inf(x; detect_negative, detect_positive): whether x is infinite.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  const bool negative = c.flag("detect_negative"), positive = c.flag("detect_positive");
  if (negative && positive) return scalar::is_inf(x[0]);
  if (!negative && !positive) return Expr::integer(0, DType::boolean);
  return scalar::logical_and(scalar::is_inf(x[0]), positive ? x[0] > 0 : x[0] < 0);
}

}  // namespace

OpPage is_inf() {
  return elementwise({
      .name = "is_inf",
      .doc = "y = whether x is an infinity of a sign that is looked for",
      .inputs = {{"x", kFloat | kFloat8}},
      .attrs = {{"detect_negative", true}, {"detect_positive", true}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{3}}).given(0, Tensor::vector<float>({1, -INFINITY, INFINITY})),
                  sample({{4}}).all(DType::f16).range(-1, 1),
                  sample({{3}}).with({{"detect_negative", false}}),
                  sample({{3}}).with({{"detect_positive", false}}),
                  sample({{3}}).with({{"detect_negative", false}, {"detect_positive", false}})},
  });
}

}  // namespace tenon::ops
