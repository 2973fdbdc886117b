// affine_grid(theta, size): the points of an image under affine maps.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// theta[n, r, r + 1] maps r coordinates and a 1; size is [n, channels, spatial...].
Result<Types> infer(const Call& c) {
  const Type& theta = c.in(0);
  auto length = known_length(c, 1);
  if (!length) return Types{Type::unranked(theta.dtype())};
  TENON_EXPECT(*length == 4 || *length == 5, "size has 4 or 5 numbers", c.in(1));
  const auto r = static_cast<int>(*length) - 2;
  if (theta.ranked()) {
    TENON_EXPECT(theta.ndim() == 3, "theta.ndim == 3", theta);
    TENON_EXPECT_SAME(theta.dim(1), Dim(r), "theta.rows == spatial axes");
    TENON_EXPECT_SAME(theta.dim(2), Dim(r + 1), "theta.columns == spatial axes and one");
  }
  auto size = c.dims(1);
  Shape out = {theta.ranked() ? theta.dim(0) : size ? (*size)[0] : c.fresh_dim("n")};
  for (int i = 0; i < r; ++i)
    out.push_back(size ? (*size)[static_cast<std::size_t>(i + 2)]
                       : c.fresh_dim(fmt::format("d{}", i)));
  out.emplace_back(r);
  return Types{Type(theta.dtype(), out)};
}

// The homogeneous coordinates of every point, [spatial..., r + 1] in double: x first, 1 last.
Value* base_points(B g, Value* size, int r, bool align, Value* spatial) {
  const auto number = [&](double v) { return g.number(v, DType::f64); };
  Values parts(static_cast<std::size_t>(r));
  Value* shape = g.concat(spatial, g.ints({1}), Attrs{{"axis", 0}});
  for (int a = 0; a < r; ++a) {
    Value *count = g.gather(size, g.ints({a + 2})),
          *i = g.cast_to(iota_along(g, count, a, r + 1), DType::f64);
    Value *n = g.reshape(g.cast_to(count, DType::f64), g.ints({})), *x = nullptr;
    if (align)
      x = g.sub(g.div(g.mul(i, number(2)), g.max(g.sub(n, number(1)), number(1))), number(1));
    else
      x = g.sub(g.div(g.add(g.mul(i, number(2)), number(1)), n), number(1));
    parts[static_cast<std::size_t>(r - 1 - a)] = g.expand(x, shape);
  }
  parts.push_back(g.expand(number(1), shape));
  return g.concat(parts, Attrs{{"axis", -1}});
}

// [spatial sizes] from `size`, and every point as a row.
struct Points {
  Value *spatial, *rows;
};
Points points_of(B g, const Call& c) {
  const int r = c.out(0).ndim() - 2;
  Value* size = g.cast_to(c.value(1), DType::i64);
  Value* spatial = g.slice(size, g.ints({2}), g.ints({r + 2}), g.ints({0}));
  return {spatial, g.reshape(base_points(g, size, r, c.flag("align_corners"), spatial),
                             g.ints({-1, r + 1}))};
}

// grid[n, p, :] = theta[n] (point p, 1), in double
Values decompose(B g, const Call& c) {
  const Points points = points_of(g, c);
  Value* theta = g.cast_to(c.value(0), DType::f64);
  Value* grid = g.matmul(points.rows, g.transpose(theta, Attrs{{"perm", Dims{0, 2, 1}}}));
  Value* shape = g.concat(size_of_axis(g, theta, 0), points.spatial, g.ints({c.out(0).ndim() - 2}),
                          Attrs{{"axis", 0}});
  return {g.cast_to(g.reshape(grid, shape, Attrs{{"allow_zero", true}}), c.in(0).dtype())};
}

// dtheta[n] = sum over points of dgrid[n, p, :] (point p, 1)'
Values gradient(B g, const Call& c, const Values& dys) {
  const int r = c.out(0).ndim() - 2;
  Value* rows = points_of(g, c).rows;
  Value* shape = g.concat(size_of_axis(g, c.value(0), 0), size_of_axis(g, rows, 0), g.ints({r}),
                          Attrs{{"axis", 0}});
  Value* dgrid = g.reshape(g.cast_to(dys[0], DType::f64), shape, Attrs{{"allow_zero", true}});
  return {g.cast_to(g.matmul(g.transpose(dgrid, Attrs{{"perm", Dims{0, 2, 1}}}), rows),
                    c.in(0).dtype()),
          nullptr};
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  f.inputs[0][0] = f.outputs[0][0] = "n";
  return f;
}

}  // namespace

OpPage affine_grid() {
  return {.name = "affine_grid",
          .doc =
              "grid[n, p, :] = theta[n] applied to point p of an image of `size` [n, channels, "
              "spatial...] and a 1; coordinates in [-1, 1], the last axis first; align_corners "
              "puts -1 and 1 on "
              "the centres of the outer elements",
          .inputs = {{"theta", kFloat}, {"size", kIndex, "I"}},
          .attrs = {{"align_corners", false}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {
              sample({{2, 2, 3}, {4}}).known(1, i64s({2, 3, 2, 4})),
              sample({{2, 2, 3}, {4}}).given(1, i64s({2, 3, 3, 2})).with({{"align_corners", true}}),
              sample({{1, 3, 4}, {5}}).known(1, i64s({1, 1, 2, 3, 2})),
              rejects({{2, 2, 2}, {4}}, "theta.columns is 2").known(1, i64s({2, 3, 2, 4}))}};
}

}  // namespace tenon::ops
