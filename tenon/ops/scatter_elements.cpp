// scatter_elements(x, indices, updates; axis, reduction): single elements of x replaced or added
// to.
#include "tenon/ops/movements.h"
#include "tenon/ops/scatters.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
  TENON_TRY(meet_of(c));
  if (!x.ranked() || !indices.ranked() || !updates.ranked()) return Types{x};
  TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  TENON_EXPECT(x.ndim() == indices.ndim() && x.ndim() == updates.ndim(),
               "x, indices and updates have one ndim", x, indices, updates);
  for (int i = 0; i < x.ndim(); ++i)
    TENON_EXPECT_SAME(indices.dim(i), updates.dim(i), "indices.dim == updates.dim");
  return Types{x};
}

// y = x; then y[a..., indices[a..., i, b...], b...] meets updates[a..., i, b...]
Result<Datums> eval(const EvalCall& e) {
  const Tensor &x = e.in(0), &updates = e.in(2);
  const auto axis =
      static_cast<std::size_t>(TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim())));
  const Meet meet = TENON_TRY(meet_of(e.call));
  auto to = integers(e.in(1));
  const std::int64_t size = x.dims()[axis];
  for (std::int64_t i : to)
    if (i < -size || i >= size)
      return invalid("scatter_elements: index {} is outside of an axis of {}", i, size);
  for (std::size_t i = 0; i < x.dims().size(); ++i)
    if (i != axis && updates.dims()[i] > x.dims()[i])
      return invalid("scatter_elements: updates {} reach beyond {}", to_text(updates.dims()),
                     to_text(x.dims()));
  const Dims strides = row_major_strides(x.dims());
  for_each_index(updates.dims(), [&](const Dims& at, std::int64_t k) {
    const std::int64_t i = to[static_cast<std::size_t>(k)];
    to[static_cast<std::size_t>(k)] =
        offset_of(at, strides) + ((i < 0 ? i + size : i) - at[axis]) * strides[axis];
  });
  return Datums{Datum(put(x, updates, to, meet))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  const std::int64_t axis = c.integer("axis");
  const Scatter s{[&](Value* x) { return g.gather_elements(x, c.value(1), Attrs{{"axis", axis}}); },
                  [&](Value* x, Value* u, const char* how) {
                    return g.scatter_elements(x, c.value(1), u,
                                              Attrs{{"axis", axis}, {"reduction", how}});
                  }};
  const Values d = scatter_gradient(g, s, *meet_of(c), c.value(0), c.value(2), c.result(0), dys[0]);
  return {d[0], nullptr, d[1]};
}

Cost cost(const Call& c) {
  return {c.text("reduction") == "none" ? Dim(0) : c.in(2).count(), c.bytes_in(), c.bytes_out()};
}

// Axes of equal size go through; the axis of the indices stays whole.
Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  Factors f = all_whole(c);
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    if (i == axis || !(c.in(0).dim(i) == c.in(1).dim(i))) continue;
    for (auto& names : f.inputs) names[static_cast<std::size_t>(i)] = fmt::format("d{}", i);
    f.outputs[0][static_cast<std::size_t>(i)] = fmt::format("d{}", i);
  }
  return f;
}

}  // namespace

OpPage scatter_elements() {
  const auto rows = [](std::vector<std::int64_t> v) {
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size()) / 2, 2}, v);
  };
  const auto how = [](const char* reduction) { return Attrs{{"reduction", reduction}}; };
  const auto with_indices = [&](const Tensor& t) {
    return sample({{4, 2}, {3, 2}, {3, 2}}).given(1, t).distinct();
  };
  const Tensor apart = rows({0, 3, 2, 1, -1, 0}), together = rows({0, 3, 0, 3, 2, 0});
  Sample zeros = with_indices(together).with(how("mul"));
  zeros = std::move(zeros).given(
      0, Tensor::of<float>({4, 2}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 0}));
  zeros =
      std::move(zeros).given(2, Tensor::of<float>({3, 2}, std::vector<float>{2, 0, 3, 5, 0, 7}));
  return {
      .name = "scatter_elements",
      .doc =
          "x with updates[a, i, b] at [a, indices[a, i, b], b] along `axis`; `reduction` says how "
          "an update meets what is there: none (replaces), add, mul, max, min; "
          "for none the positions must differ",
      .inputs = {{"x", kAny}, {"indices", kIndex, "I"}, {"updates", kAny}},
      .attrs = {{"axis", 0}, {"reduction", "none"}},
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {
          with_indices(apart), with_indices(together).with(how("add")),
          with_indices(together).with(how("mul")), zeros, with_indices(together).with(how("max")),
          with_indices(together).with(how("min")),
          sample({{4, 3, 4}, {4, 2, 4}, {4, 2, 4}})
              .indices(1, 3)
              .with({{"axis", 1}, {"reduction", "add"}}),
          rejects({{2, 3}, {2, 2}, {2, 1}}, "indices.dim is 2 but updates.dim is 1").indices(1, 2),
          rejects({{2}, {1}, {1}}, "reduction is none").indices(1, 2).with(how("mean"))}};
}

}  // namespace tenon::ops
