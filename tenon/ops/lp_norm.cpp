// lp_norm(x; axis, p): rows divided by their norm.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.integer("p") != 1 && c.integer("p") != 2)
    return invalid("p is 1 or 2 but {} is given", c.integer("p"));
  if (c.in(0).ranked()) TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  return Types{c.in(0)};
}

// y = x / norm, 0 where the norm is 0
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  const auto p = static_cast<double>(c.integer("p"));
  Value* x = g.cast_to(c.value(0), wide_float(dtype));
  Value* sum = g.reduce_sum(absolute_power(g, x, p), g.ints({c.integer("axis")}));
  Value* safe = g.where(g.equal(sum, g.number(0, x)), g.number(1, x), sum);
  return {g.cast_to(g.div(x, p == 1 ? safe : g.sqrt(safe)), dtype)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  return sharding_except(c, {TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()))});
}

}  // namespace

OpPage lp_norm() {
  return {
      .name = "lp_norm",
      .doc =
          "y = x / (sum of |x|^p along `axis`)^(1/p) for p 1 or 2; a row of zeros stays, and "
          "passes its gradient on",
      .inputs = {{"x", kFloat}},
      .attrs = {{"axis", -1}, {"p", 2}},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {sample({{2, 3}}), sample({{2, 3, 4}}).distinct().with({{"axis", 0}, {"p", 1}}),
                  sample({{2, 3}}).range(0, 0).without_gradient("zeros are a kink"),
                  rejects({{2, 3}}, "p is 1 or 2").with({{"p", 3}})}};
}

}  // namespace tenon::ops
