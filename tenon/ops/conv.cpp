// conv(x, w, b): convolution (cross-correlation) over 1 to 3 spatial axes.
#include "tenon/ops/convolutions.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &w = c.in(1);
  if (!x.ranked() || !w.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() >= 3 && w.ndim() == x.ndim(),
               "x is [n, c, spatial...] and w is [m, c / group, kernel...]", x, w);
  TENON_TRY(check_channels(c, x.dim(1), w));
  if (c.has(2)) TENON_EXPECT_SAME(c.in(2).dim(0), w.dim(0), "b.size == w.rows");
  const Shape sizes = TENON_TRY(window_sizes(c, spatial(x), spatial(w)));
  Shape out = {x.dim(0), w.dim(0)};
  out.insert(out.end(), sizes.begin(), sizes.end());
  return Types{x.with_shape(out)};
}

// y[n, m, o] = b[m] + sum over c, k of x[n, c, o * stride - begin + k * dilation] * w[m, c, k]
template <class W>
Tensor convolve(const EvalCall& e, ConvSizes s, Dims out) {
  const auto x = wide<W>(e.in(0)), w = wide<W>(e.in(1));
  std::vector<W> y(static_cast<std::size_t>(num_elements(out)), W{0});
  if (e.has(2)) {
    const auto b = wide<W>(e.in(2));
    const std::int64_t plane = y_plane(s.window), channels = s.groups * s.out;
    for (std::size_t k = 0; k < y.size(); ++k)
      y[k] = b[static_cast<std::size_t>(static_cast<std::int64_t>(k) / plane % channels)];
  }
  merge_rows(s.window);
  for_each_row(s, [&](std::int64_t wi, std::int64_t xi, std::int64_t yi, std::int64_t count,
                      std::int64_t step) {
    const W weight = w[static_cast<std::size_t>(wi)];
    const W* from = x.data() + xi;
    W* to = y.data() + yi;
    if (step == 1)
      for (std::int64_t j = 0; j < count; ++j) to[j] += weight * from[j];
    else
      for (std::int64_t j = 0; j < count; ++j) to[j] += weight * from[j * step];
  });
  return narrow(y, e.in(0).dtype(), std::move(out));
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor &x = e.in(0), &w = e.in(1);
  const Window window = TENON_TRY(window_of(e.call, spatial(x), spatial(w)));
  const std::int64_t groups = e.call.integer("group");
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const ConvSizes s = {x.dim(0), groups, w.dim(1), w.dim(0) / groups, window};
  return visit_real(x.dtype(), [&](auto t) {
    return Datums{Datum(convolve<decltype(t)>(e, s, *constant_dims(types[0].shape())))};
  });
}

Values gradient(B g, const Call& c, const Values& dys) {
  const Attrs attrs = copied_attrs(c, {"group"});
  Value *x = c.value(0), *w = c.value(1);
  Values dxs = {g.conv_input_adjoint(dys[0], w, spatial_value(g, x), attrs),
                g.conv_weight_adjoint(x, dys[0], spatial_value(g, w), attrs)};
  if (c.num_inputs() > 2)
    dxs.push_back(c.has(2) ? g.reduce_sum(g.reshape(dys[0], g.ints({0, 0, -1})), g.ints({0, 2}),
                                          Attrs{{"keepdims", false}})
                           : nullptr);
  return dxs;
}

Cost cost(const Call& c) {
  return {Dim(2) * c.out(0).count() * num_elements(spatial(c.in(1))) * c.in(1).dim(1), c.bytes_in(),
          c.bytes_out()};
}

// Spatial axes stay whole: a part needs its neighbours' borders. With groups, channels do too: a
// part would need another `group`. With a bias the input channels do: every peer would add b.
Result<Factors> sharding(const Call& c) {
  const ConvFactors axes = conv_factors(c, !c.has(2));
  Factors f;
  f.inputs = {axes.x, axes.w};
  if (c.num_inputs() > 2)
    f.inputs.push_back(c.has(2) ? std::vector<std::string>{axes.m} : std::vector<std::string>{});
  f.outputs = {axes.y};
  return f;
}

}  // namespace

OpPage conv() {
  return {.name = "conv",
          .doc =
              "y[n, m, o] = b[m] + sum over c, k of x[n, c, o * stride - begin + k * dilation] * "
              "w[m, c, k], zeros outside of x; "
              "with `group` the channels form groups that do not mix",
          .inputs = {{"x", kNumeric}, {"w", kNumeric}, maybe("b", kNumeric)},
          .attrs = conv_attrs(),
          .traits = {Trait::contraction},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {
              sample({{2, 3, 5, 4}, {4, 3, 3, 2}, {4}}),
              sample({{2, 4, 7}, {4, 4, 3}})
                  .with({{"strides", Attr::Integers{2}}, {"pads", Attr::Integers{1, 2}}}),
              sample({{1, 4, 6, 5}, {2, 2, 3, 3}, {2}})
                  .with({{"group", 2},
                         {"strides", Attr::Integers{2, 1}},
                         {"dilations", Attr::Integers{1, 2}},
                         {"pads", Attr::Integers{1, 0, 2, 3}}}),
              sample({{1, 2, 3, 3, 4}, {2, 2, 2, 1, 2}}).with({{"auto_pad", "VALID"}}),
              sample({{4, 2, 5, 6}, {2, 2, 2, 3}})
                  .with({{"auto_pad", "SAME_UPPER"}, {"strides", Attr::Integers{2, 2}}}),
              sample({{1, 2, 5}, {2, 2, 2}}).with({{"auto_pad", "SAME_LOWER"}}),
              sample({{2, 3, 4, 4}, {4, 3, 1, 1}}),
              sample({{1, 2, 5}, {2, 2, 2}}).all(DType::i32).range(-9, 9),
              rejects({{1, 3, 5, 5}, {4, 2, 3, 3}}, "x.channels is 3 but w.channels * group is 2"),
              rejects({{1, 2, 3}, {2, 2, 4}}, "larger than the padded size"),
              rejects({{1, 2, 3}, {2, 2, 2}, {3}}, "b.size is 3 but w.rows is 2"),
              rejects({{1, 2, 3}, {2, 2, 2}}, "auto_pad is NOTSET").with({{"auto_pad", "BOTH"}}),
              rejects({{1, 2, 3}, {2, 2, 2}}, "strides has 2 entries")
                  .with({{"strides", Attr::Integers{1, 1}}})}};
}

}  // namespace tenon::ops
