// grid_sample_adjoint(dy, grid, shape): dy added where a grid_sample read.
#include "tenon/ops/movements.h"
#include "tenon/ops/sampling.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& dy = c.in(0);
  auto shape = c.dims(2);
  if (!shape) return Types{dy.ranked() ? dy.with_shape(unknown_shape(c, dy.ndim())) : dy};
  const Type x(dy.dtype(), *shape);
  TENON_TRY(check_grid(c, x, c.in(1)));
  return Types{x};
}

// dx[n, c, tap] = sum of weight * dy[n, c, o] over the points that read there
Result<Datums> eval(const EvalCall& e) {
  const Tensor &dy = e.in(0), &grid = e.in(1);
  const Dims shape = integers(e.in(2)), spatial(shape.begin() + 2, shape.end());
  const std::int64_t batch = shape[0], channels = shape[1],
                     axes = static_cast<std::int64_t>(spatial.size());
  const PointSampler sampler(e.call, spatial);
  const auto values = to_doubles(dy), points = to_doubles(grid);
  const std::int64_t out = num_elements(Dims(dy.dims().begin() + 2, dy.dims().end())),
                     in = num_elements(spatial);
  if (dy.count() != batch * channels * out || grid.count() != batch * out * axes)
    return invalid("grid_sample_adjoint: dy {} and grid {} do not fit x {}", to_text(dy.dims()),
                   to_text(grid.dims()), to_text(shape));
  std::vector<double> dx(static_cast<std::size_t>(batch * channels * in), 0.0);
  std::vector<PointSampler::Tap> taps;
  for (std::int64_t p = 0; in > 0 && p < batch * out; ++p) {
    sampler.read(points.data() + p * axes, taps);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double v = values[static_cast<std::size_t>((p / out * channels + c) * out + p % out)];
      double* to = dx.data() + (p / out * channels + c) * in;
      for (const auto& t : taps) to[t.offset] += t.weight * v;
    }
  }
  return Datums{Datum(from_doubles(dx, dy.dtype(), shape))};
}

// Linear in dy: its adjoint is the sampling. In the grid the same as for <sampling of the given,
// dy>.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.grid_sample(dys[0], c.value(1), c.node().attrs()),
          grid_gradient(g, c, dys[0], c.value(1), c.value(0)), nullptr};
}

Cost cost(const Call& c) {
  return {c.in(0).count() * Dim(c.text("mode") == "cubic" ? 32 : 8), c.bytes_in(), c.bytes_out()};
}

// The shape input names whole sizes; points split, each peer holding a part of the sum.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  for (int i = 2; i < c.in(0).ndim(); ++i)
    f.inputs[0][static_cast<std::size_t>(i)] = f.inputs[1][static_cast<std::size_t>(i - 1)] =
        fmt::format("o{}", i);
  return f;
}

}  // namespace

OpPage grid_sample_adjoint() {
  const auto flat = [](Attrs a) {
    return sample({{2, 2, 2, 4}, {2, 2, 4, 2}, {}})
        .range_of(1, -1.3, 1.3)
        .known(2, i64s({2, 2, 3, 4}))
        .with(std::move(a));
  };
  return {.name = "grid_sample_adjoint",
          .doc =
              "the adjoint of grid_sample in x: zeros of `shape` with every element of dy added, "
              "weighted, where grid_sample reads for it",
          .inputs = {{"dy", kFloat}, {"grid", kFloat, "G"}, {"shape", kIndex, "D"}},
          .attrs = sampling_attrs(),
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {flat({}), flat({{"mode", "cubic"}, {"padding_mode", "reflection"}}),
                      flat({{"mode", "nearest"}, {"padding_mode", "border"}}),
                      flat({{"order", Dims{0, 1}}})}};
}

}  // namespace tenon::ops
