// global_average_pool(x): the mean of each plane.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  Type x = c.in(0);
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() >= 2, "x is [n, c, spatial...]", x);
  for (int i = 2; i < x.ndim(); ++i) x = x.with_dim(i, Dim(1));
  return Types{x};
}

Values decompose(B g, const Call& c) {
  return {g.reduce_mean(c.value(0), g.ints(axes_from(2, c.in(0).ndim())))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) { return sharding_except(c, axes_from(2, c.in(0).ndim())); }

}  // namespace

OpPage global_average_pool() {
  return {.name = "global_average_pool",
          .doc = "mean of each plane, spatial axes kept with size 1",
          .inputs = {{"x", kFloat}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 3, 2}}), sample({{4, 2, 5}}),
                      rejects({{4}}, "x is [n, c, spatial...]")}};
}

}  // namespace tenon::ops
