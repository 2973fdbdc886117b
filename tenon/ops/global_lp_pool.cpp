// global_lp_pool(x; p): the p-norm of each plane.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.integer("p") < 1) return invalid("p is at least 1 but {} is given", c.integer("p"));
  Type x = c.in(0);
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() >= 2, "x is [n, c, spatial...]", x);
  for (int i = 2; i < x.ndim(); ++i) x = x.with_dim(i, Dim(1));
  return Types{x};
}

Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  const auto p = static_cast<double>(c.integer("p"));
  Value* powers = absolute_power(g, g.cast_to(c.value(0), wide_float(dtype)), p);
  return {g.cast_to(root(g, g.reduce_sum(powers, g.ints(axes_from(2, c.in(0).ndim()))), p), dtype)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) { return sharding_except(c, axes_from(2, c.in(0).ndim())); }

}  // namespace

OpPage global_lp_pool() {
  return {.name = "global_lp_pool",
          .doc =
              "y = (sum of |x|^p over each plane)^(1/p), spatial axes kept with size 1; where the "
              "sum is 0 the gradient is 0",
          .inputs = {{"x", kFloat}},
          .attrs = {{"p", 2}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 3, 2}}), sample({{4, 2, 5}}).distinct().with({{"p", 1}}),
                      sample({{1, 2, 3}}).distinct().with({{"p", 3}}),
                      rejects({{4}}, "x is [n, c, spatial...]")}};
}

}  // namespace tenon::ops
