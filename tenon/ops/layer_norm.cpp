// layer_norm(x, scale, bias; axis, epsilon): every row brought to mean 0 and variance 1.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

// Also gives mean and 1 / standard deviation of every row, which the gradient reads.
Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked())
    return Types{x, Type::unranked(wide_float(x.dtype())), Type::unranked(wide_float(x.dtype()))};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  for (int i = 1; i < 3; ++i) {
    if (!c.has(i) || !c.in(i).ranked()) continue;
    const Shape both = TENON_TRY(broadcast(x.shape(), c.in(i).shape()));
    TENON_EXPECT(both.size() == x.shape().size(), "scale and bias broadcast to x", x, c.in(i));
    for (int k = 0; k < x.ndim(); ++k)
      TENON_EXPECT_SAME(both[static_cast<std::size_t>(k)], x.dim(k), "scale.size == x.size");
  }
  Type row = x.with_dtype(wide_float(x.dtype()));
  for (int i = axis; i < x.ndim(); ++i) row = row.with_dim(i, Dim(1));
  return Types{x, row, row};
}

std::vector<std::int64_t> rows_of(const Call& c) {
  return axes_from(*c.axis(c.integer("axis"), c.in(0).ndim()), c.in(0).ndim());
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, in at least 32 bits
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype(), wide = wide_float(dtype);
  const Standardised s = standardise(g, g.cast_to(c.value(0), wide), rows_of(c), c.real("epsilon"));
  Value* y = s.y;
  if (c.has(1)) y = g.mul(y, g.cast_to(c.value(1), wide));
  if (c.has(2)) y = g.add(y, g.cast_to(c.value(2), wide));
  return {g.cast_to(y, dtype), s.mean, s.inv_std};
}

// With n = (x - mean) * inv_std: dn = dy * scale, dscale = sum dy * n, dbias = sum dy. The saved
// rows give dmean / count each, and -inv_std^2 * n * dinv_std / count.
Values gradient(B g, const Call& c, const Values& dys) {
  const DType wide = wide_float(c.in(0).dtype());
  const auto axes = rows_of(c);
  Value* n = g.mul(g.sub(g.cast_to(c.value(0), wide), c.result(1)), c.result(2));
  Value *dx = nullptr, *dscale = nullptr, *dbias = nullptr;
  const auto collect = [&](Value* part) { dx = dx ? g.add(dx, part) : part; };
  if (dys[0]) {
    Value *dy = g.cast_to(dys[0], wide), *scale = c.has(1) ? g.cast_to(c.value(1), wide) : nullptr;
    if (scale) dscale = g.cast_to(g.sum_to(g.mul(dy, n), scale), c.in(1).dtype());
    if (c.has(2)) dbias = g.cast_to(g.sum_to(dy, c.value(2)), c.in(2).dtype());
    collect(standardise_adjoint(g, scale ? g.mul(dy, scale) : dy, n, c.result(2), axes));
  }
  Value* count = dys[1] || dys[2] ? count_along(g, n, axes) : nullptr;
  if (dys[1]) collect(g.expand(g.div(dys[1], count), g.shape(n)));
  if (dys[2])
    collect(g.neg(g.mul(g.div(g.mul(dys[2], g.mul(c.result(2), c.result(2))), count), n)));
  Values dxs = {g.cast_to(dx, c.in(0).dtype()), dscale, dbias};
  dxs.resize(static_cast<std::size_t>(c.num_inputs()));
  return dxs;
}

Result<Factors> sharding(const Call& c) { return sharding_except(c, rows_of(c)); }

}  // namespace

OpPage layer_norm() {
  return {.name = "layer_norm",
          .doc =
              "y = (x - mean) / sqrt(variance + epsilon) * scale + bias over axes from `axis` on; "
              "16-bit floats compute in f32",
          .inputs = {{"x", kFloat}, maybe("scale", kFloat), maybe("bias", kFloat)},
          .outputs = {"y", "mean", "inv_std"},
          .attrs = {{"axis", -1}, {"epsilon", 1e-5}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{4, 5}, {5}, {5}}),
                      sample({{2, 3, 4}, {3, 4}}).with({{"axis", 1}, {"epsilon", 0.1}}),
                      sample({{2, 2, 3}, {2, 1, 3}, {1}}).with({{"axis", -2}}), sample({{4, 3}}),
                      sample({{3, 4}, {4}, {4}}).all(DType::f16),
                      sample({{2, 4}, {4}}).with({{"axis", 0}}),
                      rejects({{2, 3}, {4}}, "do not broadcast"),
                      rejects({{2, 1}, {4}}, "scale.size is 4 but x.size is 1"),
                      rejects({{2, 3}, {3}}, "axis 2 is outside").with({{"axis", 2}})}};
}

}  // namespace tenon::ops
