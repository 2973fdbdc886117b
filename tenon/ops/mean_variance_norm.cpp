// mean_variance_norm(x; axes): mean 0 and variance 1 over some axes.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

constexpr double kTiny = 1e-9;  // keeps constant rows at 0

Result<Types> infer(const Call& c) {
  if (c.in(0).ranked())
    for (std::int64_t a : c.integers("axes")) TENON_TRY(c.axis(a, c.in(0).ndim()));
  return Types{c.in(0)};
}

// y = (x - mean) / (sqrt(variance) + tiny)
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  Value *x = g.cast_to(c.value(0), wide_float(dtype)), *axes = g.ints(c.integers("axes"));
  Value* d = g.sub(x, g.reduce_mean(x, axes));
  Value* deviation = root(g, g.reduce_mean(g.mul(d, d), axes), 2);
  return {g.cast_to(g.div(d, g.add(deviation, g.number(kTiny, x))), dtype)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  std::vector<std::int64_t> whole;
  for (std::int64_t a : c.integers("axes")) whole.push_back(TENON_TRY(c.axis(a, c.in(0).ndim())));
  return sharding_except(c, whole);
}

}  // namespace

OpPage mean_variance_norm() {
  return {.name = "mean_variance_norm",
          .doc = "y = (x - mean) / (standard deviation + 1e-9) over `axes`",
          .inputs = {{"x", kFloat}},
          .attrs = {{"axes", Attr::Integers{0, 2, 3}}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 2, 3}}), sample({{4, 3}}).with({{"axes", Attr::Integers{-1}}}),
                      sample({{2, 2}})
                          .range(1, 1)
                          .with({{"axes", Attr::Integers{0}}})
                          .without_gradient("a constant row is a kink"),
                      rejects({{2, 3}}, "axis 2 is outside")}};
}

}  // namespace tenon::ops
