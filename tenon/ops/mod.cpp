// mod(a, b; fmod): the remainder of a division.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  const Expr r = scalar::rem(x[0], x[1]);
  if (c.flag("fmod") || class_of(r.dtype()) == DTypeClass::unsigned_integer) return r;
  const Expr zero = scalar::like(r, 0);
  const Expr differs = scalar::logical_xor(r < zero, x[1] < zero);
  return scalar::select(scalar::logical_and(differs, scalar::logical_not(scalar::equal(r, zero))),
                        r + x[1], r);
}

// y = a - b n, n the whole part of a / b  =>  da = dy, db = -n dy
Values gradient(B g, const Call& c, const Values& dys) {
  Value *a = c.value(0), *b = c.value(1), *quotient = g.div(a, b);
  Value* whole = c.flag("fmod") ? g.trunc(quotient) : g.floor(quotient);
  return {g.sum_to(dys[0], a), g.sum_to(g.neg(g.mul(dys[0], whole)), b)};
}

}  // namespace

OpPage mod() {
  return elementwise({
      .name = "mod",
      .doc = "y = remainder of a / b, with broadcasting: with the sign of b, or with `fmod` with "
             "the sign "
             "of a; integers by 0 give 0",
      .inputs = {{"a", kNumeric}, {"b", kNumeric}},
      .attrs = {{"fmod", false}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}})
                      .range_of(0, 2.1, 2.9)
                      .range_of(1, 1.1, 1.4)
                      .with({{"fmod", true}}),
                  sample({{2, 3}, {3}}).range_of(0, -2.9, -2.1).range_of(1, 1.1, 1.4),
                  sample({{6}, {6}}).all(DType::i32).range(-9, 9),
                  sample({{6}, {6}}).all(DType::i8).range(-9, 9).with({{"fmod", true}}),
                  sample({{4}, {}}).all(DType::u64).range(0, 9),
                  sample({{4}, {4}}).all(DType::f16).range(-9, 9).with({{"fmod", true}}),
                  rejects({{2}, {3}}, "do not broadcast")},
  });
}

}  // namespace tenon::ops
