// is_nan(x): whether x is not a number.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::is_nan(x[0]); }

}  // namespace

OpPage is_nan() {
  return elementwise({
      .name = "is_nan",
      .doc = "y = whether x is NaN",
      .inputs = {{"x", kFloat | kFloat8}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{3}}).given(0, Tensor::vector<float>({1, std::nanf(""), INFINITY})),
                  sample({{4}}).all(DType::f16).range(-1, 1), sample({{4}}).all(DType::f8e5m2)},
  });
}

}  // namespace tenon::ops
