// sub(a, b): the difference, element by element.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return x[0] - x[1]; }

// y = a - b  =>  da = dy, db = -dy
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.sum_to(dys[0], c.value(0)), g.sum_to(g.neg(dys[0]), c.value(1))};
}

}  // namespace

OpPage sub() {
  return elementwise({
      .name = "sub",
      .doc = "y = a - b, with broadcasting",
      .inputs = {{"a", kNumeric}, {"b", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}), sample({{2, 3, 4}, {3, 1}}), sample({{4}, {}}),
                  sample({{5}, {5}}).all(DType::u8).range(0, 200),
                  rejects({{2, 3}, {4}}, "do not broadcast")},
  });
}

}  // namespace tenon::ops
