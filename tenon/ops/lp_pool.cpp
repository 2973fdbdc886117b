// lp_pool(x; p): the p-norm of each window.
#include "tenon/ops/pooling.h"
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.integer("p") < 1) return invalid("p is at least 1 but {} is given", c.integer("p"));
  return Types{TENON_TRY(infer_pool(c))};
}

// y = (sum of |x|^p)^(1/p): an average with divisor 1 is a sum
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  const auto p = static_cast<double>(c.integer("p"));
  Attrs attrs = copied_pool_attrs(c);
  attrs.set("divisor", 1);
  Value* sum =
      g.average_pool(absolute_power(g, g.cast_to(c.value(0), wide_float(dtype)), p), attrs);
  return {g.cast_to(root(g, sum, p), dtype)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

}  // namespace

OpPage lp_pool() {
  auto attrs = pool_attrs();
  attrs.emplace_back("p", 2);
  return {
      .name = "lp_pool",
      .doc = "y = (sum of |x|^p over each window)^(1/p); where the sum is 0 the gradient is 0",
      .inputs = {{"x", kFloat}},
      .attrs = attrs,
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding_planes,
      .samples = {
          sample({{2, 4, 5, 4}})
              .with({{"kernel", Attr::Integers{2, 3}}, {"strides", Attr::Integers{2, 1}}}),
          sample({{1, 2, 7}})
              .distinct()
              .with({{"kernel", Attr::Integers{3}},
                     {"p", 3},
                     {"pads", Attr::Integers{1, 1}},
                     {"strides", Attr::Integers{2}}}),
          sample({{1, 2, 6}})
              .distinct()
              .with({{"kernel", Attr::Integers{2}},
                     {"p", 1},
                     {"dilations", Attr::Integers{2}},
                     {"auto_pad", "SAME_LOWER"}}),
          rejects({{1, 2, 6}}, "p is at least 1").with({{"kernel", Attr::Integers{2}}, {"p", 0}})}};
}

}  // namespace tenon::ops
