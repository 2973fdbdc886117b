// gather_elements(x, indices; axis): single elements of x picked by index.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1);
  if (!indices.ranked()) return Types{Type::unranked(x.dtype())};
  if (!x.ranked()) return Types{Type(x.dtype(), indices.shape())};
  TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  TENON_EXPECT(x.ndim() == indices.ndim(), "x.ndim == indices.ndim", x, indices);
  return Types{x.with_shape(indices.shape())};
}

// y[a..., i, b...] = x[a..., indices[a..., i, b...], b...]; negative indices count from the end
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const auto axis =
      static_cast<std::size_t>(TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim())));
  const auto indices = integers(e.in(1));
  const std::int64_t size = x.dims()[axis];
  for (std::int64_t i : indices)
    if (i < -size || i >= size)
      return invalid("gather_elements: index {} is outside of an axis of {}", i, size);
  for (std::size_t i = 0; i < x.dims().size(); ++i)
    if (i != axis && e.in(1).dims()[i] > x.dims()[i])
      return invalid("gather_elements: indices {} reach beyond {}", to_text(e.in(1).dims()),
                     to_text(x.dims()));
  const Dims strides = row_major_strides(x.dims());
  return Datums{Datum(copy_elements(x, e.in(1).dims(), [&](const Dims& at, std::int64_t k) {
    const std::int64_t i = indices[static_cast<std::size_t>(k)];
    return offset_of(at, strides) + ((i < 0 ? i + size : i) - at[axis]) * strides[axis];
  }))};
}

// The adjoint adds dy into zeros at the indices.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.scatter_elements(g.zeros_like(c.value(0)), c.value(1), dys[0],
                             Attrs{{"axis", c.integer("axis")}, {"reduction", "add"}}),
          nullptr};
}

// Axes of equal size go through; the picked positions split among peers that hold the whole axis.
Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  Factors f = all_whole(c);
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (i == axis)
      f.inputs[1][k] = f.outputs[0][k] = "picked";
    else if (c.in(0).dim(i) == c.in(1).dim(i))
      f.inputs[0][k] = f.inputs[1][k] = f.outputs[0][k] = fmt::format("d{}", i);
  }
  return f;
}

}  // namespace

OpPage gather_elements() {
  OpPage p = movement(
      "gather_elements",
      "y[a, i, b] = x[a, indices[a, i, b], b] along `axis`; negative indices count from the end");
  p.inputs = {{"x", kAny}, {"indices", kIndex, "I"}};
  p.attrs = {{"axis", 0}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{5, 4}, {4, 4}}).indices(1, 5),
      sample({{2, 5, 4}, {2, 4, 4}}).indices(1, 5).with({{"axis", 1}}),
      sample({{3, 4}, {2, 2}})
          .given(1, Tensor::of<std::int64_t>({2, 2}, std::vector<std::int64_t>{-1, 0, 3, 0}))
          .with({{"axis", -1}}),
      rejects({{2, 3}, {2}}, "x.ndim == indices.ndim").indices(1, 2)};
  return p;
}

}  // namespace tenon::ops
