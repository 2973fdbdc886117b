// average_pool(x): the mean of each window.
#include "tenon/ops/averages.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{TENON_TRY(infer_pool(c))}; }

// y[o] = sum over the window's taps of x / divisor(o)
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const Window w = TENON_TRY(pool_window(e.call, spatial(x)));
  const std::vector<double> scale = window_scales(e.call, w), values = to_doubles(x);
  const Dims out = *constant_dims(types[0].shape());
  std::vector<double> y(static_cast<std::size_t>(num_elements(out)));
  for (std::int64_t plane = 0; plane < x.dim(0) * x.dim(1); ++plane)
    for_each_output(w, [&](std::int64_t y0, std::int64_t y1, std::int64_t y2, std::int64_t k) {
      const double* from = values.data() + plane * x_plane(w);
      double sum = 0;
      for_each_tap(w, y0, y1, y2, [&](std::int64_t at, std::int64_t) { sum += from[at]; });
      y[static_cast<std::size_t>(plane * y_plane(w) + k)] =
          sum * scale[static_cast<std::size_t>(k)];
    });
  return Datums{Datum(narrow(y, x.dtype(), out))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  Value* x = c.value(0);
  return {g.average_pool_adjoint(dys[0], g.dims_value(spatial(x->type()), x),
                                 copied_pool_attrs(c, {"count_include_pad", "divisor"}))};
}

Cost cost(const Call& c) { return cost_pool(c, c.out(0).count()); }

}  // namespace

OpPage average_pool() {
  return {
      .name = "average_pool",
      .doc =
          "sum of each window over the number of its elements inside of x (`count_include_pad`: of "
          "x and pads, but not beyond), or over `divisor` when that is not 0",
      .inputs = {{"x", kFloat}},
      .attrs = average_attrs(),
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding_planes,
      .samples = {
          sample({{2, 4, 5, 4}})
              .with({{"kernel", Attr::Integers{2, 3}}, {"strides", Attr::Integers{2, 1}}}),
          sample({{1, 2, 7}})
              .with({{"kernel", Attr::Integers{3}},
                     {"strides", Attr::Integers{2}},
                     {"pads", Attr::Integers{1, 1}},
                     {"ceil_mode", true}}),
          sample({{1, 2, 6}})
              .with({{"kernel", Attr::Integers{3}},
                     {"strides", Attr::Integers{2}},
                     {"pads", Attr::Integers{1, 0}},
                     {"ceil_mode", true},
                     {"count_include_pad", true}}),
          sample({{1, 1, 4, 3, 4}})
              .with({{"kernel", Attr::Integers{2, 2, 2}},
                     {"auto_pad", "SAME_LOWER"},
                     {"dilations", Attr::Integers{2, 1, 1}},
                     {"count_include_pad", true}}),
          sample({{1, 2, 6}}).with({{"kernel", Attr::Integers{3}}, {"divisor", 2}}),
          rejects({{1, 2, 3}}, "larger than the padded size").with({{"kernel", Attr::Integers{4}}}),
          rejects({{1, 2, 3}}, "kernel sizes are at least 1")
              .with({{"kernel", Attr::Integers{0}}})}};
}

}  // namespace tenon::ops
