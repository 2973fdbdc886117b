// scatter_nd(x, indices, updates; reduction): slices of x replaced or added to, at index vectors.
#include "tenon/ops/movements.h"
#include "tenon/ops/scatters.h"

namespace tenon::ops {
namespace {

// x[r..., s...], indices[q..., k], updates[q..., s...]: the k numbers of a vector address the axes
// r.
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
  TENON_TRY(meet_of(c));
  if (!x.ranked() || !indices.ranked() || !updates.ranked()) return Types{x};
  TENON_EXPECT(indices.ndim() >= 1, "indices.ndim >= 1", indices);
  auto length = indices.dim(-1).known();
  if (!length) return Types{x};
  TENON_EXPECT(*length <= x.ndim(), "indices.last <= x.ndim", x, indices);
  const int q = indices.ndim() - 1, k = static_cast<int>(*length);
  TENON_EXPECT(updates.ndim() == q + x.ndim() - k,
               "updates.ndim == indices.ndim - 1 + x.ndim - indices.last", x, indices, updates);
  for (int i = 0; i < q; ++i)
    TENON_EXPECT_SAME(indices.dim(i), updates.dim(i), "indices.dim == updates.dim");
  for (int i = k; i < x.ndim(); ++i)
    TENON_EXPECT_SAME(x.dim(i), updates.dim(q + i - k), "x.dim == updates.dim");
  return Types{x};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor &x = e.in(0), &updates = e.in(2);
  const auto length = static_cast<std::size_t>(e.in(1).dim(-1));
  const auto indices = integers(e.in(1));
  const Dims strides = row_major_strides(x.dims());
  const std::int64_t run =
      num_elements(Dims(x.dims().begin() + static_cast<std::ptrdiff_t>(length), x.dims().end()));
  const std::int64_t num_vectors =
      num_elements(Dims(e.in(1).dims().begin(), e.in(1).dims().end() - 1));
  if (num_vectors * run != updates.count())
    return invalid("scatter_nd: {} updates for {} positions", updates.count(), num_vectors * run);
  std::vector<std::int64_t> to;
  to.reserve(static_cast<std::size_t>(updates.count()));
  for (std::int64_t v = 0; v < num_vectors; ++v) {
    std::int64_t start = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const std::int64_t i = indices[static_cast<std::size_t>(v) * length + k], size = x.dims()[k];
      if (i < -size || i >= size)
        return invalid("scatter_nd: index {} is outside of an axis of {}", i, size);
      start += (i < 0 ? i + size : i) * strides[k];
    }
    for (std::int64_t r = 0; r < run; ++r) to.push_back(start + r);
  }
  return Datums{Datum(put(x, updates, to, TENON_TRY(meet_of(e.call))))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  const Scatter s{[&](Value* x) { return g.gather_nd(x, c.value(1)); },
                  [&](Value* x, Value* u, const char* how) {
                    return g.scatter_nd(x, c.value(1), u, Attrs{{"reduction", how}});
                  }};
  const Values d = scatter_gradient(g, s, *meet_of(c), c.value(0), c.value(2), c.result(0), dys[0]);
  return {d[0], nullptr, d[1]};
}

Cost cost(const Call& c) {
  return {c.text("reduction") == "none" ? Dim(0) : c.in(2).count(), c.bytes_in(), c.bytes_out()};
}

// The axes that no index addresses go through.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  auto length = c.in(1).dim(-1).known();
  for (int i = static_cast<int>(length.value_or(c.in(0).ndim())); i < c.in(0).ndim(); ++i) {
    const int in_updates = c.in(2).ndim() - c.in(0).ndim() + i;
    f.inputs[0][static_cast<std::size_t>(i)] = f.outputs[0][static_cast<std::size_t>(i)] =
        f.inputs[2][static_cast<std::size_t>(in_updates)] = fmt::format("s{}", i);
  }
  return f;
}

}  // namespace

OpPage scatter_nd() {
  const auto column = [](std::vector<std::int64_t> v) {
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size()), 1}, v);
  };
  const auto how = [](const char* reduction) { return Attrs{{"reduction", reduction}}; };
  const auto with_indices = [&](const Tensor& t) {
    return sample({{5, 4}, {3, 1}, {3, 4}}).given(1, t).distinct();
  };
  const Tensor together = column({1, 3, 1});
  return {.name = "scatter_nd",
          .doc =
              "x with updates[q, s] at [indices[q, :], s]; `reduction` says how an update meets "
              "what is there: none (replaces), add, mul, max, min; for none the positions must "
              "differ",
          .inputs = {{"x", kAny}, {"indices", kIndex, "I"}, {"updates", kAny}},
          .attrs = {{"reduction", "none"}},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {
              with_indices(column({1, -1, 0})), with_indices(together).with(how("add")),
              with_indices(together).with(how("mul")), with_indices(together).with(how("max")),
              with_indices(together).with(how("min")),
              sample({{3, 3}, {2, 2, 2}, {2, 2}})
                  .given(1, Tensor::of<std::int64_t>(
                                {2, 2, 2}, std::vector<std::int64_t>{0, 0, 1, 2, 2, 1, 0, 2})),
              rejects({{3, 3}, {2, 1}, {2, 2}}, "x.dim is 3 but updates.dim is 2").indices(1, 3)}};
}

}  // namespace tenon::ops
