// resize_adjoint(dy, shape, roi, scales, sizes): dy added where a resize read.
#include "tenon/ops/movements.h"
#include "tenon/ops/resampling.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  TENON_TRY(check_resampling(c));
  auto shape = c.dims(1);
  if (!shape)
    return Types{c.in(0).ranked() ? c.in(0).with_shape(unknown_shape(c, c.in(0).ndim())) : c.in(0)};
  return Types{Type(c.in(0).dtype(), *shape)};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& dy = e.in(0);
  const Resampling r = TENON_TRY(resampling_of(e.call, 2, integers(e.in(1))));
  if (r.out != dy.dims())
    return invalid("resize_adjoint: dy is {} but the resize gives {}", to_text(dy.dims()),
                   to_text(r.out));
  std::vector<double> dx = to_doubles(dy);
  Dims dims = dy.dims();
  for (auto t = r.axes.rbegin(); t != r.axes.rend(); ++t) dx = write_axis(dx, dims, *t);
  return Datums{Datum(from_doubles(dx, dy.dtype(), dims))};
}

// Linear in dy; its adjoint is the resize again, but outside of x there is nothing.
Values gradient(B g, const Call& c, const Values& dys) {
  Attrs attrs = c.node().attrs();
  attrs.set("extrapolation_value", 0.0);
  Values dxs = {g.resize(Values{dys[0], c.value(2), c.value(3), c.value(4)}, attrs)};
  dxs.resize(5, nullptr);
  return dxs;
}

Cost cost(const Call& c) {
  return {c.in(0).count() * Dim(c.text("mode") == "nearest" ? 1 : 8), c.bytes_in(), c.bytes_out()};
}
Result<Factors> sharding(const Call& c) { return all_whole(c); }

}  // namespace

OpPage resize_adjoint() {
  const auto scaled = [](Dims dy, Dims shape, std::vector<float> s, Attrs a) {
    return sample({std::move(dy), {}, {}, {}})
        .known(1, i64s(shape))
        .absent(2)
        .known(3, Tensor::vector(s))
        .with(std::move(a));
  };
  return {
      .name = "resize_adjoint",
      .doc =
          "the adjoint of resize: zeros of `shape` with every element of dy added, weighted, where "
          "resize(x, roi, scales, sizes) reads for it",
      .inputs = {{"dy", kFloat},
                 {"shape", kIndex, "D"},
                 maybe("roi", kFloat, "R"),
                 maybe("scales", TypeSet::one(DType::f32), "S"),
                 maybe("sizes", kIndex, "I")},
      .attrs = resampling_attrs(),
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {scaled({2, 4, 6}, {2, 2, 3}, {1, 2, 2}, {}),
                  scaled({4, 6}, {2, 3}, {2, 2}, {{"mode", "linear"}}),
                  scaled({3, 4}, {6, 8}, {0.5F, 0.5F}, {{"mode", "cubic"}, {"antialias", true}})}};
}

}  // namespace tenon::ops
