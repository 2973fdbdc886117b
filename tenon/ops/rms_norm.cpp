// rms_norm(x, scale; axis, epsilon): every row divided by its root mean square.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &scale = c.in(1);
  if (!x.ranked()) return Types{x.with_dtype(scale.dtype())};
  TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  if (scale.ranked()) {
    const Shape both = TENON_TRY(broadcast(x.shape(), scale.shape()));
    TENON_EXPECT(both.size() == x.shape().size(), "scale broadcasts to x", x, scale);
    for (int k = 0; k < x.ndim(); ++k)
      TENON_EXPECT_SAME(both[static_cast<std::size_t>(k)], x.dim(k), "scale.size == x.size");
  }
  return Types{x.with_dtype(scale.dtype())};
}

std::vector<std::int64_t> rows_of(const Call& c) {
  return axes_from(*c.axis(c.integer("axis"), c.in(0).ndim()), c.in(0).ndim());
}

// 1 / sqrt(mean x^2 + epsilon) of every row
Value* inverse_size(B g, const Call& c, Value* x) {
  return g.rsqrt(
      g.add(g.reduce_mean(g.mul(x, x), g.ints(rows_of(c))), g.number(c.real("epsilon"), x)));
}

Values decompose(B g, const Call& c) {
  const DType wide = wide_float(c.in(0).dtype());
  Value* x = g.cast_to(c.value(0), wide);
  return {g.cast_to(g.mul(g.mul(x, inverse_size(g, c, x)), g.cast_to(c.value(1), wide)),
                    c.in(1).dtype())};
}

// With n = x * r: dn = dy * scale, dx = r * (dn - n * mean(dn * n)), dscale = sum dy * n
Values gradient(B g, const Call& c, const Values& dys) {
  const DType wide = wide_float(c.in(0).dtype());
  Value *x = g.cast_to(c.value(0), wide), *scale = g.cast_to(c.value(1), wide),
        *dy = g.cast_to(dys[0], wide);
  Value *r = inverse_size(g, c, x), *n = g.mul(x, r), *dn = g.mul(dy, scale);
  Value* dx = g.mul(r, g.sub(dn, g.mul(n, g.reduce_mean(g.mul(dn, n), g.ints(rows_of(c))))));
  return {g.cast_to(dx, c.in(0).dtype()),
          g.cast_to(g.sum_to(g.mul(dy, n), scale), c.in(1).dtype())};
}

Result<Factors> sharding(const Call& c) { return sharding_except(c, rows_of(c)); }

}  // namespace

OpPage rms_norm() {
  return {.name = "rms_norm",
          .doc =
              "y = x / sqrt(mean of x^2 + epsilon) * scale over axes from `axis` on, in scale's "
              "type; 16-bit floats compute in f32",
          .inputs = {{"x", kFloat}, {"scale", kFloat, "S"}},
          .attrs = {{"axis", -1}, {"epsilon", 1e-5}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{4, 5}, {5}}),
                      sample({{2, 3, 4}, {3, 4}}).with({{"axis", 1}, {"epsilon", 0.1}}),
                      sample({{2, 2, 3}, {2, 1, 1}}).with({{"axis", -2}}),
                      sample({{2, 4}, {4}}).dtypes({DType::f16, DType::f32}),
                      rejects({{2, 3}, {4}}, "do not broadcast")}};
}

}  // namespace tenon::ops
