// min(a, b): the smaller of two.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::min(x[0], x[1]); }

// dy goes to the smaller; at a tie each side takes half
Values gradient(B g, const Call& c, const Values& dys) {
  Value *a = c.value(0), *b = c.value(1), *tie = g.equal(a, b),
        *half = g.mul(dys[0], g.number(0.5, dys[0]));
  Value* da = g.where(tie, half, g.masked(g.less(a, b), dys[0]));
  Value* db = g.where(tie, half, g.masked(g.less(b, a), dys[0]));
  return {g.sum_to(da, a), g.sum_to(db, b)};
}

}  // namespace

OpPage min() {
  return elementwise({
      .name = "min",
      .doc = "y = the smaller of a and b, with broadcasting; NaN when either is NaN",
      .inputs = {{"a", kNumeric}, {"b", kNumeric}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}).distinct(), sample({{2, 3, 4}, {3, 1}}).distinct(),
                  sample({{4}, {4}}).all(DType::u64).range(0, 9),
                  sample({{4}, {}}).all(DType::i8).range(-9, 9),
                  rejects({{2, 3}, {4}}, "do not broadcast")},
      .traits = {Trait::commutative, Trait::associative},
  });
}

}  // namespace tenon::ops
