// max_pool_adjoint(dy, x): dy put where max_pool found the largest elements.
#include "tenon/ops/pooling.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &dy = c.in(0), &x = c.in(1);
  if (!dy.ranked() || !x.ranked()) return Types{Type::unranked(dy.dtype())};
  TENON_EXPECT(x.ndim() >= 3 && dy.ndim() == x.ndim(), "dy and x are [n, c, spatial...]", dy, x);
  const Shape y = TENON_TRY(pooled_sizes(c, spatial(x)));
  for (int i = 0; i < dy.ndim(); ++i)
    TENON_EXPECT_SAME(dy.dim(i), i < 2 ? x.dim(i) : y[static_cast<std::size_t>(i - 2)],
                      "dy.size == the size of max_pool's result");
  return Types{x};
}

template <class W>
Tensor scatter(const Tensor& dy, const Tensor& x, const Window& w) {
  const auto upstream = wide<W>(dy), values = wide<W>(x);
  std::vector<W> dx(values.size(), W{0});
  for (std::int64_t plane = 0; plane < x.dim(0) * x.dim(1); ++plane)
    for_each_output(w, [&](std::int64_t y0, std::int64_t y1, std::int64_t y2, std::int64_t k) {
      const std::int64_t from = plane * x_plane(w),
                         best = largest_in_window(w, values.data() + from, y0, y1, y2);
      if (best >= 0)
        dx[static_cast<std::size_t>(from + best)] +=
            upstream[static_cast<std::size_t>(plane * y_plane(w) + k)];
    });
  return narrow(dx, dy.dtype(), x.dims());
}

Result<Datums> eval(const EvalCall& e) {
  const Window w = TENON_TRY(pool_window(e.call, spatial(e.in(1))));
  return visit_real(e.in(0).dtype(), [&](auto t) {
    return Datums{Datum(scatter<decltype(t)>(e.in(0), e.in(1), w))};
  });
}

// Linear in dy: the adjoint reads where this one writes. In x it is constant almost everywhere.
Values gradient(B g, const Call& c, const Values& dys) {
  Value* indices = g.all_of("max_pool", {c.value(1)}, copied_pool_attrs(c), 2)[1];
  return {g.gather(g.reshape(dys[0], g.ints({-1})), indices), nullptr};
}

Cost cost(const Call& c) { return cost_pool(c, c.in(0).count()); }

}  // namespace

OpPage max_pool_adjoint() {
  return {
      .name = "max_pool_adjoint",
      .doc =
          "the adjoint of max_pool at x: every dy added to the element of x that its window's "
          "maximum came from",
      .inputs = {{"dy", kNumeric}, {"x", kNumeric}},
      .attrs = pool_attrs(),
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding_planes,
      .samples = {
          sample({{2, 4, 2, 2}, {2, 4, 5, 4}})
              .distinct()
              .with({{"kernel", Attr::Integers{2, 3}}, {"strides", Attr::Integers{2, 1}}}),
          sample({{1, 2, 4}, {1, 2, 7}})
              .distinct()
              .with({{"kernel", Attr::Integers{3}},
                     {"strides", Attr::Integers{2}},
                     {"pads", Attr::Integers{1, 1}},
                     {"ceil_mode", true}}),
          rejects({{1, 2, 3}, {1, 2, 7}}, "dy.size is 3").with({{"kernel", Attr::Integers{2}}})}};
}

}  // namespace tenon::ops
