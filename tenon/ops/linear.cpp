// linear(x, w, b): the affine map on the last axis of x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &w = c.in(1), &b = c.in(2);
  if (!x.ranked() || !w.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() >= 1 && w.ndim() == 2 && (!b.ranked() || b.ndim() == 1),
               "x is [..., k], w is [k, n] and b is [n]", x, w, b);
  TENON_EXPECT_SAME(x.dim(-1), w.dim(0), "x.last == w.rows");
  if (b.ranked()) TENON_EXPECT_SAME(b.dim(0), w.dim(1), "b.size == w.cols");
  return Types{x.with_dim(-1, w.dim(1))};
}

Values decompose(B g, const Call& c) {
  return {g.add(g.matmul(c.value(0), c.value(1)), c.value(2))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

}  // namespace

OpPage linear() {
  return {.name = "linear",
          .doc = "y[..., n] = sum over k of x[..., k] * w[k, n], plus b[n]",
          .inputs = {{"x", kFloat}, {"w", kFloat}, {"b", kFloat}},
          .traits = {Trait::contraction},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          // k stays whole: with k split over p peers each would add b, and the reduced sum would
          // carry p * b.
          .sharding = factors("... k, k n, n -> ... n").whole("k"),
          .samples = {sample({{4, 3}, {3, 5}, {5}}), sample({{2, 0, 3}, {3, 5}, {5}}),
                      sample({{2, 4, 3}, {3, 2}, {2}}), sample({{3}, {3, 2}, {2}}),
                      rejects({{4, 3}, {2, 5}, {5}}, "x.last is 3 but w.rows is 2"),
                      rejects({{4, 3}, {3, 5}, {4}}, "b.size is 4 but w.cols is 5")}};
}

}  // namespace tenon::ops
