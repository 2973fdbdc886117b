// grid_sample(x, grid): x read at points of a grid.
#include "tenon/ops/movements.h"
#include "tenon/ops/sampling.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &grid = c.in(1);
  TENON_TRY(check_grid(c, x, grid));
  if (!x.ranked() || !grid.ranked()) return Types{Type::unranked(x.dtype())};
  Shape out = {x.dim(0), x.dim(1)};
  out.insert(out.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  return Types{x.with_shape(out)};
}

// y[n, c, o...] = sum over taps around grid[n, o..., :] of weight * x[n, c, tap]
Result<Datums> eval(const EvalCall& e) {
  const Tensor &x = e.in(0), &grid = e.in(1);
  const std::int64_t batch = x.dim(0), channels = x.dim(1), axes = x.ndim() - 2;
  const Dims spatial(x.dims().begin() + 2, x.dims().end());
  const PointSampler sampler(e.call, spatial);
  const auto values = to_doubles(x), points = to_doubles(grid);
  Dims dims = {batch, channels};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  const std::int64_t out = num_elements(Dims(dims.begin() + 2, dims.end())),
                     in = num_elements(spatial);
  std::vector<double> y(static_cast<std::size_t>(batch * channels * out), 0.0);
  std::vector<PointSampler::Tap> taps;
  for (std::int64_t p = 0; in > 0 && p < batch * out; ++p) {
    sampler.read(points.data() + p * axes, taps);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double* from = values.data() + (p / out * channels + c) * in;
      double sum = 0;
      for (const auto& t : taps) sum += t.weight * from[t.offset];
      y[static_cast<std::size_t>((p / out * channels + c) * out + p % out)] = sum;
    }
  }
  return Datums{Datum(from_doubles(y, x.dtype(), dims))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  Value* dx = g.grid_sample_adjoint(dys[0], c.value(1), g.shape(c.value(0)), c.node().attrs());
  return {dx, grid_gradient(g, c, c.value(0), c.value(1), dys[0])};
}

// 2 taps an axis for linear, 4 for cubic, multiplied out over the axes
Cost cost(const Call& c) {
  const std::int64_t base = c.text("mode") == "cubic" ? 4 : c.text("mode") == "linear" ? 2 : 1;
  std::int64_t taps = 2;
  for (int i = 2; i < c.in(0).ndim(); ++i) taps *= base;
  return {c.out(0).count() * Dim(taps), c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  f.inputs[0][0] = f.inputs[1][0] = f.outputs[0][0] = "n";
  f.inputs[0][1] = f.outputs[0][1] = "c";
  for (int i = 2; i < c.out(0).ndim(); ++i)
    f.inputs[1][static_cast<std::size_t>(i - 1)] = f.outputs[0][static_cast<std::size_t>(i)] =
        fmt::format("o{}", i);
  return f;
}

std::vector<Sample> samples() {
  const auto flat = [](Attrs a) {
    return sample({{2, 2, 3, 4}, {2, 2, 4, 2}}).range_of(1, -1.3, 1.3).with(std::move(a));
  };
  const auto deep = [](Attrs a) {
    return sample({{1, 2, 2, 3, 4}, {1, 2, 2, 1, 3}}).range_of(1, -1.3, 1.3).with(std::move(a));
  };
  return {flat({}),
          flat({{"align_corners", true}, {"padding_mode", "border"}}),
          flat({{"padding_mode", "reflection"}}),
          flat({{"mode", "cubic"}}),
          flat({{"mode", "cubic"}, {"padding_mode", "reflection"}, {"align_corners", true}}),
          flat({{"mode", "cubic"}, {"padding_mode", "border"}}),
          flat({{"mode", "nearest"}}),
          flat({{"mode", "nearest"}, {"padding_mode", "border"}}),
          deep({}),
          deep({{"mode", "nearest"}, {"padding_mode", "reflection"}}),
          deep({{"mode", "cubic"}, {"padding_mode", "border"}}),
          flat({{"mode", "cubic"}, {"order", Dims{1, 0}}}),
          flat({{"order", Dims{1, 1}}, {"padding_mode", "reflection"}}),
          rejects({{1, 1, 2, 2}, {1, 2, 2, 3}}, "grid.last is 3 but number of spatial axes is 2"),
          rejects({{1, 1, 2, 2}, {1, 2, 2, 2}}, "padding_mode is zeros")
              .with({{"padding_mode", "wrap"}})};
}

}  // namespace

OpPage grid_sample() {
  return {
      .name = "grid_sample",
      .doc =
          "y[n, c, o] = x[n, c] read at grid[n, o, :], coordinates in [-1, 1], the last axis "
          "first: nearest, linear or cubic; outside of x are zeros, the border or the reflection; "
          "align_corners puts -1 and 1 on the centres of the outer elements rather than on their "
          "edges. `order` asks for that derivative in each coordinate instead",
      .inputs = {{"x", kNumeric}, {"grid", kFloat, "G"}},
      .attrs = sampling_attrs(),
      .infer = infer,
      .eval = eval,
      .decompose = none("core: where x is read depends on values"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = samples()};
}

}  // namespace tenon::ops
