// group_norm(x, scale, bias; num_groups, epsilon): groups of channels brought to mean 0 and
// variance 1.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() >= 2, "x is [n, c, ...]", x);
  TENON_EXPECT_SAME(c.in(1).dim(0), x.dim(1), "scale.size == x.channels");
  TENON_EXPECT_SAME(c.in(2).dim(0), x.dim(1), "bias.size == x.channels");
  const std::int64_t groups = c.integer("num_groups");
  if (groups < 1) return invalid("num_groups is at least 1 but {} is given", groups);
  if (auto n = x.dim(1).known(); n && *n % groups)
    return invalid("{} channels do not divide into {} groups", *n, groups);
  return Types{x};
}

// Groups as rows of a layer norm, then scale and bias for each channel
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype(), wide = wide_float(dtype);
  const int ndim = c.in(0).ndim();
  Value* x = g.cast_to(c.value(0), wide);
  Value* n = g.layer_norm(g.reshape(x, g.ints({0, c.integer("num_groups"), -1})),
                          Attrs{{"epsilon", c.real("epsilon")}});
  Value* scaled = g.mul(g.reshape_like(n, x), g.cast_to(per_channel(g, c.value(1), ndim), wide));
  return {g.cast_to(g.add(scaled, g.cast_to(per_channel(g, c.value(2), ndim), wide)), dtype)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

// Part of the channels would need another num_groups.
Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs = {std::vector<std::string>(static_cast<std::size_t>(c.in(0).ndim()), ""), {""}, {""}};
  f.inputs[0][0] = "n";
  f.outputs = {f.inputs[0]};
  return f;
}

}  // namespace

OpPage group_norm() {
  return {
      .name = "group_norm",
      .doc =
          "y = (x - mean) / sqrt(variance + epsilon) * scale + bias; statistics over each of "
          "`num_groups` groups of channels, scale and bias for each channel",
      .inputs = {{"x", kFloat}, {"scale", kFloat}, {"bias", kFloat}},
      .attrs = {AttrSpec::required("num_groups", Attr::Kind::integer), {"epsilon", 1e-5}},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {
          sample({{2, 4, 3, 2}, {4}, {4}}).with({{"num_groups", 2}}),
          sample({{4, 4}, {4}, {4}}).with({{"num_groups", 1}, {"epsilon", 0.1}}),
          sample({{1, 2, 3}, {2}, {2}}).all(DType::f16).with({{"num_groups", 2}}),
          rejects({{2, 4, 3}, {4}, {4}}, "do not divide into 3 groups").with({{"num_groups", 3}}),
          rejects({{2, 4, 3}, {3}, {4}}, "scale.size is 3 but x.channels is 4")
              .with({{"num_groups", 2}})}};
}

}  // namespace tenon::ops
