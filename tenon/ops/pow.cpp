// pow(a, b): a to the power of b.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// Both in one type that holds them: f64 when a float meets an integer or a wider float, i64 for
// integers.
Exprs operands(const Expr& a, const Expr& b) {
  const DType p = a.dtype(), q = b.dtype();
  if (p == q) return {a, b};
  if (!is_floating(p) && !is_floating(q))
    return {scalar::cast(a, DType::i64), scalar::cast(b, DType::i64)};
  return {scalar::cast(a, DType::f64), scalar::cast(b, DType::f64)};
}

Expr scalar(const Call&, const Exprs& x) {
  const Exprs both = operands(x[0], x[1]);
  return scalar::cast(scalar::pow(both[0], both[1]), x[0].dtype());
}

// da = dy b a^(b - 1), 0 where b is 0; db = dy y log(a), 0 where a is 0 and b >= 0, NaN for a < 0,
// where a^b has no derivative along b
Values gradient(B g, const Call& c, const Values& dys) {
  Value *a = c.value(0), *b = c.value(1), *y = c.result(0), *dy = dys[0];
  if (!is_floating(c.in(0).dtype())) return {nullptr, nullptr};  // the result is an integer
  Value *p = g.cast_to(b, c.in(0).dtype()), *zero = g.number(0, a), *one = g.number(1, a);
  Value* is_flat = g.logical_and(g.equal(p, zero), g.equal(a, zero));
  Value* da = g.chain(dy, g.mul(p, g.pow(g.where(is_flat, one, a), g.sub(p, one))));
  if (!is_floating(c.in(1).dtype())) return {g.sum_to(da, a), nullptr};
  Value* at_zero = g.logical_and(g.equal(a, zero), g.less_equal(zero, p));
  Value* db = g.mul(dy, g.mul(g.where(at_zero, zero, y), g.log(g.where(at_zero, one, a))));
  return {g.sum_to(da, a), g.sum_to(g.cast_to(db, c.in(1).dtype()), b)};
}

}  // namespace

OpPage pow() {
  return elementwise({
      .name = "pow",
      .doc = "y = a^b in the type of a, with broadcasting; b may have another type. Integers to "
             "negative "
             "powers give 0 (1 and -1 stay exact)",
      .inputs = {{"a", kNumeric}, {"b", kNumeric, "P"}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}, {2, 3}}).range_of(0, 0.5, 2),
                  sample({{2, 3, 4}, {3, 1}}).range_of(0, 0.5, 2).range_of(1, -2, 2),
                  sample({{3}, {}})
                      .given(0, Tensor::vector<float>({-2, 0.5, 3}))
                      .given(1, Tensor::scalar<std::int64_t>(3)),
                  sample({{3}, {3}}).dtypes({DType::i32, DType::f32}).range(1, 4),
                  sample({{3}, {3}}).dtypes({DType::f32, DType::u64}).range(0.5, 3),
                  sample({{4}, {4}}).all(DType::i64).range(-4, 4),
                  sample({{4}, {4}}).dtypes({DType::f16, DType::f64}).range(0.5, 2),
                  rejects({{2}, {3}}, "do not broadcast")},
  });
}

}  // namespace tenon::ops
