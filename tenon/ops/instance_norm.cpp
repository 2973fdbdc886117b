// instance_norm(x, scale, bias; epsilon): every plane brought to mean 0 and variance 1.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() >= 3, "x is [n, c, spatial...]", x);
  TENON_EXPECT_SAME(c.in(1).dim(0), x.dim(1), "scale.size == x.channels");
  TENON_EXPECT_SAME(c.in(2).dim(0), x.dim(1), "bias.size == x.channels");
  return Types{x};
}

// Planes as the rows of a layer norm, then scale and bias for each channel
Values decompose(B g, const Call& c) {
  const int ndim = c.in(0).ndim();
  return {g.layer_norm(c.value(0), per_channel(g, c.value(1), ndim),
                       per_channel(g, c.value(2), ndim),
                       Attrs{{"axis", 2}, {"epsilon", c.real("epsilon")}})};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs = {std::vector<std::string>(static_cast<std::size_t>(c.in(0).ndim()), ""), {"c"}, {"c"}};
  f.inputs[0][0] = "n";
  f.inputs[0][1] = "c";
  f.outputs = {f.inputs[0]};
  return f;
}

}  // namespace

OpPage instance_norm() {
  return {.name = "instance_norm",
          .doc =
              "y = (x - mean) / sqrt(variance + epsilon) * scale + bias; statistics over the "
              "spatial axes, scale and bias for each channel",
          .inputs = {{"x", kFloat}, {"scale", kFloat}, {"bias", kFloat}},
          .attrs = {{"epsilon", 1e-5}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 3, 2}, {4}, {4}}),
                      sample({{4, 2, 5}, {2}, {2}}).with({{"epsilon", 0.1}}),
                      rejects({{2, 4}, {4}, {4}}, "x is [n, c, spatial...]"),
                      rejects({{2, 4, 3}, {4}, {2}}, "bias.size is 2 but x.channels is 4")}};
}

}  // namespace tenon::ops
