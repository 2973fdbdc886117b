// conv_weight_adjoint(x, dy, size): what conv's weights get back.
#include "tenon/ops/convolutions.h"

namespace tenon::ops {
namespace {

// `size` holds the kernel's spatial sizes.
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &dy = c.in(1);
  if (!x.ranked() || !dy.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() >= 3 && dy.ndim() == x.ndim(),
               "x is [n, c, spatial...] and dy is [n, m, spatial...]", x, dy);
  TENON_EXPECT_SAME(x.dim(0), dy.dim(0), "x.batch == dy.batch");
  const Shape kernel = TENON_TRY(given_sizes(c, 2, x.ndim() - 2));
  Shape out = {dy.dim(1), floor_div(x.dim(1), Dim(std::max<std::int64_t>(1, c.integer("group"))))};
  out.insert(out.end(), kernel.begin(), kernel.end());
  const Type w = x.with_shape(out);
  TENON_TRY(check_channels(c, x.dim(1), w));
  const Shape y = TENON_TRY(window_sizes(c, spatial(x), kernel));
  for (int i = 2; i < dy.ndim(); ++i)
    TENON_EXPECT_SAME(dy.dim(i), y[static_cast<std::size_t>(i - 2)],
                      "dy.size == the size of conv's result");
  return Types{w};
}

// w[m, c, k] = sum over n, o of x[n, c, o * stride - begin + k * dilation] * dy[n, m, o]
template <class W>
Tensor correlate(const EvalCall& e, ConvSizes s, Dims out) {
  const auto x = wide<W>(e.in(0)), dy = wide<W>(e.in(1));
  std::vector<W> w(static_cast<std::size_t>(num_elements(out)), W{0});
  merge_rows(s.window);
  for_each_row(s, [&](std::int64_t wi, std::int64_t xi, std::int64_t yi, std::int64_t count,
                      std::int64_t step) {
    const W *a = x.data() + xi, *b = dy.data() + yi;
    W sum{0};
    for (std::int64_t j = 0; j < count; ++j) sum += a[j * step] * b[j];
    w[static_cast<std::size_t>(wi)] += sum;
  });
  return narrow(w, e.in(0).dtype(), std::move(out));
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor &x = e.in(0), &dy = e.in(1);
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const Dims out = *constant_dims(types[0].shape());
  const Window window = TENON_TRY(window_of(e.call, spatial(x), Dims(out.begin() + 2, out.end())));
  const std::int64_t groups = e.call.integer("group");
  const ConvSizes s = {x.dim(0), groups, out[1], dy.dim(1) / groups, window};
  return visit_real(x.dtype(),
                    [&](auto t) { return Datums{Datum(correlate<decltype(t)>(e, s, out))}; });
}

// Linear in x and in dy: the adjoint in x is the other adjoint, that in dy is conv.
Values gradient(B g, const Call& c, const Values& dys) {
  const Attrs attrs = copied_attrs(c, {"group"});
  return {g.conv_input_adjoint(c.value(1), dys[0], spatial_value(g, c.value(0)), attrs),
          g.conv(c.value(0), dys[0], attrs), nullptr};
}

Cost cost(const Call& c) {
  return {Dim(2) * c.in(1).count() * num_elements(spatial(c.out(0))) * c.out(0).dim(1),
          c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  const ConvFactors axes = conv_factors(c);
  Factors f;
  f.inputs = {axes.x, axes.y, {""}};
  f.outputs = {axes.w};
  return f;
}

}  // namespace

OpPage conv_weight_adjoint() {
  const auto size = [](std::vector<std::int64_t> v) { return Tensor::vector(v); };
  return {.name = "conv_weight_adjoint",
          .doc =
              "the adjoint of conv in w: w[m, c, k] = sum over n, o of x[n, c, o * stride - begin "
              "+ k * dilation] * dy[n, m, o], for a kernel of `size`",
          .inputs = {{"x", kNumeric}, {"dy", kNumeric}, {"size", kIndex, "I"}},
          .attrs = conv_attrs(),
          .traits = {Trait::contraction},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {sample({{2, 2, 5, 4}, {2, 4, 3, 3}, {2}}).known(2, size({3, 2})),
                      sample({{2, 4, 7}, {2, 4, 4}, {1}})
                          .known(2, size({3}))
                          .with({{"strides", Attr::Integers{2}}, {"pads", Attr::Integers{1, 2}}}),
                      sample({{4, 4, 6, 5}, {4, 2, 4, 4}, {2}})
                          .known(2, size({3, 3}))
                          .with({{"group", 2},
                                 {"strides", Attr::Integers{2, 1}},
                                 {"dilations", Attr::Integers{1, 2}},
                                 {"pads", Attr::Integers{1, 0, 2, 3}}}),
                      sample({{1, 2, 5}, {1, 2, 3}, {1}})
                          .given(2, size({3}))
                          .with({{"auto_pad", "SAME_LOWER"}, {"strides", Attr::Integers{2}}}),
                      rejects({{1, 2, 5}, {2, 2, 4}, {1}}, "x.batch is 1 but dy.batch is 2")
                          .known(2, size({2})),
                      rejects({{1, 2, 5}, {1, 2, 4}, {1}},
                              "dy.size is 4 but the size of conv's result is 3")
                          .known(2, size({3}))}};
}

}  // namespace tenon::ops
