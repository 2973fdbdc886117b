// conv_input_adjoint(dy, w, size): what conv's input gets back, and the heart of conv_transpose.
#include "tenon/ops/convolutions.h"

namespace tenon::ops {
namespace {

// `size` holds x's spatial sizes: dy alone does not tell how much the last stride left over.
Result<Types> infer(const Call& c) {
  const Type &dy = c.in(0), &w = c.in(1);
  if (!dy.ranked() || !w.ranked()) return Types{Type::unranked(dy.dtype())};
  TENON_EXPECT(dy.ndim() >= 3 && w.ndim() == dy.ndim(),
               "dy is [n, m, spatial...] and w is [m, c / group, kernel...]", dy, w);
  TENON_EXPECT_SAME(dy.dim(1), w.dim(0), "dy.channels == w.rows");
  const Dim channels = w.dim(1) * Dim(c.integer("group"));
  TENON_TRY(check_channels(c, channels, w));
  const Shape x = TENON_TRY(given_sizes(c, 2, dy.ndim() - 2)),
              y = TENON_TRY(window_sizes(c, x, spatial(w)));
  for (int i = 2; i < dy.ndim(); ++i)
    TENON_EXPECT_SAME(dy.dim(i), y[static_cast<std::size_t>(i - 2)],
                      "dy.size == the size of conv's result");
  Shape out = {dy.dim(0), channels};
  out.insert(out.end(), x.begin(), x.end());
  return Types{dy.with_shape(out)};
}

// x[n, c, o * stride - begin + k * dilation] += dy[n, m, o] * w[m, c, k]
template <class W>
Tensor scatter(const EvalCall& e, ConvSizes s, Dims out) {
  const auto dy = wide<W>(e.in(0)), w = wide<W>(e.in(1));
  std::vector<W> x(static_cast<std::size_t>(num_elements(out)), W{0});
  merge_rows(s.window);
  for_each_row(s, [&](std::int64_t wi, std::int64_t xi, std::int64_t yi, std::int64_t count,
                      std::int64_t step) {
    const W weight = w[static_cast<std::size_t>(wi)];
    const W* from = dy.data() + yi;
    W* to = x.data() + xi;
    if (step == 1)
      for (std::int64_t j = 0; j < count; ++j) to[j] += weight * from[j];
    else
      for (std::int64_t j = 0; j < count; ++j) to[j * step] += weight * from[j];
  });
  return narrow(x, e.in(0).dtype(), std::move(out));
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor &dy = e.in(0), &w = e.in(1);
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const Dims out = *constant_dims(types[0].shape());
  const Window window = TENON_TRY(window_of(e.call, Dims(out.begin() + 2, out.end()), spatial(w)));
  const std::int64_t groups = e.call.integer("group");
  const ConvSizes s = {dy.dim(0), groups, w.dim(1), w.dim(0) / groups, window};
  return visit_real(dy.dtype(),
                    [&](auto t) { return Datums{Datum(scatter<decltype(t)>(e, s, out))}; });
}

// Linear in dy and in w: the adjoint in dy is conv, that in w the other adjoint.
Values gradient(B g, const Call& c, const Values& dys) {
  const Attrs attrs = copied_attrs(c, {"group"});
  return {g.conv(dys[0], c.value(1), attrs),
          g.conv_weight_adjoint(dys[0], c.value(0), spatial_value(g, c.value(1)), attrs), nullptr};
}

Cost cost(const Call& c) {
  return {Dim(2) * c.in(0).count() * num_elements(spatial(c.in(1))) * c.in(1).dim(1), c.bytes_in(),
          c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  const ConvFactors axes = conv_factors(c);
  Factors f;
  f.inputs = {axes.y, axes.w, {""}};
  f.outputs = {axes.x};
  return f;
}

}  // namespace

OpPage conv_input_adjoint() {
  const auto size = [](std::vector<std::int64_t> v) { return Tensor::vector(v); };
  return {.name = "conv_input_adjoint",
          .doc =
              "the adjoint of conv in x: x[n, c, o * stride - begin + k * dilation] += dy[n, m, o] "
              "* w[m, c, k], with spatial sizes `size`",
          .inputs = {{"dy", kNumeric}, {"w", kNumeric}, {"size", kIndex, "I"}},
          .attrs = conv_attrs(),
          .traits = {Trait::contraction},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {sample({{2, 4, 3, 3}, {4, 2, 3, 2}, {2}}).known(2, size({5, 4})),
                      sample({{2, 4, 4}, {4, 4, 3}, {1}})
                          .known(2, size({7}))
                          .with({{"strides", Attr::Integers{2}}, {"pads", Attr::Integers{1, 2}}}),
                      sample({{1, 2, 4, 4}, {2, 2, 3, 3}, {2}})
                          .known(2, size({6, 5}))
                          .with({{"group", 2},
                                 {"strides", Attr::Integers{2, 1}},
                                 {"dilations", Attr::Integers{1, 2}},
                                 {"pads", Attr::Integers{1, 0, 2, 3}}}),
                      sample({{4, 2, 3}, {2, 2, 3}, {1}})
                          .given(2, size({5}))
                          .with({{"auto_pad", "SAME_LOWER"}, {"strides", Attr::Integers{2}}}),
                      rejects({{1, 2, 3}, {2, 2, 2}, {1}},
                              "dy.size is 3 but the size of conv's result is 4")
                          .known(2, size({5})),
                      rejects({{1, 3, 3}, {2, 2, 2}, {1}}, "dy.channels is 3 but w.rows is 2")
                          .known(2, size({4}))}};
}

}  // namespace tenon::ops
