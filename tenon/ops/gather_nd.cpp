// gather_nd(x, indices; batch_dims): slices of x picked by index vectors.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// x[b..., r..., s...], indices[b..., q..., k]: the k numbers of a vector address the axes r.
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1);
  const auto batch = c.integer("batch_dims");
  if (!x.ranked() || !indices.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(
      indices.ndim() >= 1 && batch >= 0 && batch < indices.ndim() && batch < std::max(1, x.ndim()),
      "batch_dims < indices.ndim and x.ndim", x, indices);
  for (int i = 0; i < batch; ++i)
    TENON_EXPECT_SAME(x.dim(i), indices.dim(i), "x.dim == indices.dim over the batch");
  auto length = indices.dim(-1).known();
  if (!length) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(batch + *length <= x.ndim(), "batch_dims + indices.last <= x.ndim", x, indices);
  Shape out(indices.shape().begin(), indices.shape().end() - 1);
  out.insert(out.end(), x.shape().begin() + batch + *length, x.shape().end());
  return Types{x.with_shape(out)};
}

// y[b..., q..., s...] = x[b..., indices[b..., q..., :]..., s...]; negative indices count from the
// end
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const auto batch = static_cast<std::size_t>(e.call.integer("batch_dims"));
  const auto length = static_cast<std::size_t>(e.in(1).dim(-1));
  const auto indices = integers(e.in(1));
  const Dims strides = row_major_strides(x.dims());
  auto types = TENON_TRY(e.call.op().infer(e.call));
  Tensor y(x.dtype(), *constant_dims(types[0].shape()));
  const std::int64_t run = num_elements(
      Dims(x.dims().begin() + static_cast<std::ptrdiff_t>(batch + length), x.dims().end()));
  const std::int64_t num_vectors =
      num_elements(Dims(e.in(1).dims().begin(), e.in(1).dims().end() - 1));
  const std::int64_t num_batches =
      num_elements(Dims(x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(batch)));
  const std::int64_t per_batch =
      num_batches == 0 ? 1 : std::max<std::int64_t>(1, num_vectors / num_batches);
  const std::int64_t batch_size = batch == 0 ? 0 : strides[batch - 1];
  for (std::int64_t v = 0; v < num_vectors; ++v) {
    std::int64_t from = v / per_batch * batch_size;
    for (std::size_t k = 0; k < length; ++k) {
      const std::int64_t i = indices[static_cast<std::size_t>(v) * length + k],
                         size = x.dims()[batch + k];
      if (i < -size || i >= size)
        return invalid("gather_nd: index {} is outside of an axis of {}", i, size);
      from += (i < 0 ? i + size : i) * strides[batch + k];
    }
    copy_run(x, from, y, v * run, run);
  }
  return Datums{Datum(y)};
}

// With the batch position in front of every index vector there is no batch any more, and the
// adjoint is a scatter_nd that adds.
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *indices = c.value(1);
  const int batch = static_cast<int>(c.integer("batch_dims")), ndim = c.in(1).ndim();
  if (batch > 0) {
    Values parts, lead;
    for (int i = 0; i + 1 < ndim; ++i) lead.push_back(size_of_axis(g, indices, i));
    lead.push_back(g.ints({1}));
    Value* shape = g.concat(lead, Attrs{{"axis", 0}});
    for (int i = 0; i < batch; ++i)
      parts.push_back(g.expand(
          g.cast_to(iota_along(g, size_of_axis(g, x, i), i, ndim), c.in(1).dtype()), shape));
    parts.push_back(indices);
    indices = g.concat(parts, Attrs{{"axis", -1}});
  }
  return {g.scatter_nd(g.zeros_like(x), indices, dys[0], Attrs{{"reduction", "add"}}), nullptr};
}

// The batch goes through; index vectors split among peers that hold x; the rest of x goes through.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  const int batch = static_cast<int>(c.integer("batch_dims")), vectors = c.in(1).ndim() - 1;
  for (int i = 0; i < vectors; ++i) {
    const auto k = static_cast<std::size_t>(i);
    f.inputs[1][k] = f.outputs[0][k] = fmt::format("q{}", i);
    if (i < batch) f.inputs[0][k] = f.inputs[1][k];
  }
  const int kept = c.out(0).ndim() - vectors;
  for (int i = 0; i < kept; ++i)
    f.inputs[0][static_cast<std::size_t>(c.in(0).ndim() - kept + i)] =
        f.outputs[0][static_cast<std::size_t>(vectors + i)] = fmt::format("s{}", i);
  return f;
}

}  // namespace

OpPage gather_nd() {
  OpPage p = movement("gather_nd",
                      "y[b, q, s] = x[b, indices[b, q, :], s]: index vectors address the axes of x "
                      "after `batch_dims` batch axes; negative indices count from the end");
  p.inputs = {{"x", kAny}, {"indices", kIndex, "I"}};
  p.attrs = {{"batch_dims", 0}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{3, 3}, {4, 2}}).indices(1, 3),
               sample({{3, 3, 4}, {2, 2, 2}}).indices(1, 3),
               sample({{4, 3, 2}, {4, 1}}).indices(1, 3).with({{"batch_dims", 1}}),
               sample({{2, 2, 3, 4}, {2, 2, 4, 1}}).indices(1, 3).with({{"batch_dims", 2}}),
               sample({{4}, {1, 1}})
                   .given(1, Tensor::of<std::int64_t>({1, 1}, std::vector<std::int64_t>{-1})),
               rejects({{3}, {2, 2}}, "batch_dims + indices.last <= x.ndim").indices(1, 3)};
  return p;
}

}  // namespace tenon::ops
