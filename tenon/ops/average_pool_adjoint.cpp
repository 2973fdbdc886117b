// average_pool_adjoint(dy, size): every dy spread evenly over its window.
#include "tenon/ops/averages.h"

namespace tenon::ops {
namespace {

// `size` holds x's spatial sizes.
Result<Types> infer(const Call& c) {
  const Type& dy = c.in(0);
  if (!dy.ranked()) return Types{dy};
  TENON_EXPECT(dy.ndim() >= 3, "dy is [n, c, spatial...]", dy);
  const Shape x = TENON_TRY(given_sizes(c, 1, dy.ndim() - 2)), y = TENON_TRY(pooled_sizes(c, x));
  for (int i = 2; i < dy.ndim(); ++i)
    TENON_EXPECT_SAME(dy.dim(i), y[static_cast<std::size_t>(i - 2)],
                      "dy.size == the size of average_pool's result");
  Shape out = {dy.dim(0), dy.dim(1)};
  out.insert(out.end(), x.begin(), x.end());
  return Types{dy.with_shape(out)};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& dy = e.in(0);
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const Dims out = *constant_dims(types[0].shape());
  const Window w = TENON_TRY(pool_window(e.call, Dims(out.begin() + 2, out.end())));
  const std::vector<double> scale = window_scales(e.call, w), upstream = to_doubles(dy);
  std::vector<double> x(static_cast<std::size_t>(num_elements(out)), 0);
  for (std::int64_t plane = 0; plane < dy.dim(0) * dy.dim(1); ++plane)
    for_each_output(w, [&](std::int64_t y0, std::int64_t y1, std::int64_t y2, std::int64_t k) {
      double* to = x.data() + plane * x_plane(w);
      const double share = upstream[static_cast<std::size_t>(plane * y_plane(w) + k)] *
                           scale[static_cast<std::size_t>(k)];
      for_each_tap(w, y0, y1, y2, [&](std::int64_t at, std::int64_t) { to[at] += share; });
    });
  return Datums{Datum(narrow(x, dy.dtype(), out))};
}

// Linear; its adjoint is the average again.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.average_pool(dys[0], copied_pool_attrs(c, {"count_include_pad", "divisor"})), nullptr};
}

Cost cost(const Call& c) { return cost_pool(c, c.in(0).count()); }

}  // namespace

OpPage average_pool_adjoint() {
  const auto size = [](std::vector<std::int64_t> v) { return Tensor::vector(v); };
  return {
      .name = "average_pool_adjoint",
      .doc =
          "the adjoint of average_pool: dy / divisor added to every element of its window, for x "
          "of spatial sizes `size`",
      .inputs = {{"dy", kFloat}, {"size", kIndex, "I"}},
      .attrs = average_attrs(),
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding_planes,
      .samples = {sample({{2, 4, 2, 2}, {2}})
                      .known(1, size({5, 4}))
                      .with({{"kernel", Attr::Integers{2, 3}}, {"strides", Attr::Integers{2, 1}}}),
                  sample({{1, 2, 4}, {1}})
                      .known(1, size({7}))
                      .with({{"kernel", Attr::Integers{3}},
                             {"strides", Attr::Integers{2}},
                             {"pads", Attr::Integers{1, 1}},
                             {"ceil_mode", true}}),
                  rejects({{1, 2, 3}, {1}}, "dy.size is 3")
                      .known(1, size({7}))
                      .with({{"kernel", Attr::Integers{2}}})}};
}

}  // namespace tenon::ops
