// gather(x, indices; axis): rows of x picked by index.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1);
  if (!x.ranked() || !indices.ranked()) return Types{Type::unranked(x.dtype())};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  Shape out(x.shape().begin(), x.shape().begin() + axis);
  out.insert(out.end(), indices.shape().begin(), indices.shape().end());
  out.insert(out.end(), x.shape().begin() + axis + 1, x.shape().end());
  return Types{x.with_shape(out)};
}

// y[a..., i..., b...] = x[a..., indices[i...], b...]; negative indices count from the end
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim()));
  const auto indices = integers(e.in(1));
  const std::int64_t size = x.dim(axis),
                     inner = num_elements(Dims(x.dims().begin() + axis + 1, x.dims().end()));
  for (std::int64_t i : indices)
    if (i < -size || i >= size)
      return invalid("gather: index {} is outside of an axis of {}", i, size);
  Dims out(x.dims().begin(), x.dims().begin() + axis);
  out.insert(out.end(), e.in(1).dims().begin(), e.in(1).dims().end());
  out.insert(out.end(), x.dims().begin() + axis + 1, x.dims().end());
  const auto n = static_cast<std::int64_t>(indices.size());
  Tensor y(x.dtype(), out);
  const std::int64_t outer = y.count() == 0 ? 0 : y.count() / (n * inner);
  for (std::int64_t a = 0; a < outer; ++a)
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = indices[static_cast<std::size_t>(k)];
      copy_run(x, (a * size + (i < 0 ? i + size : i)) * inner, y, (a * n + k) * inner, inner);
    }
  return Datums{Datum(y)};
}

// The adjoint adds dy's rows into zeros at the indices.
Values gradient(B g, const Call& c, const Values& dys) {
  return {
      g.gather_adjoint(dys[0], c.value(1), g.shape(c.value(0)), Attrs{{"axis", c.integer("axis")}}),
      nullptr};
}

Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  std::vector<std::string> x, i, y;
  for (int k = 0; k < c.in(0).ndim(); ++k) x.push_back(k == axis ? "" : fmt::format("d{}", k));
  for (int k = 0; k < c.in(1).ndim(); ++k) i.push_back(fmt::format("i{}", k));
  y.insert(y.end(), x.begin(), x.begin() + axis);
  y.insert(y.end(), i.begin(), i.end());
  y.insert(y.end(), x.begin() + axis + 1, x.end());
  Factors f;
  f.inputs = {x, i};
  f.outputs = {y};
  return f;
}

}  // namespace

OpPage gather() {
  OpPage p = movement(
      "gather",
      "y[a, i, b] = x[a, indices[i], b] along `axis`; negative indices count from the end");
  p.inputs = {{"x", kAny}, {"indices", kIndex, "I"}};
  p.attrs = {{"axis", 0}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{5, 3}, {4}}).indices(1, 5),
               sample({{2, 5, 3}, {2, 2}}).indices(1, 5).with({{"axis", -2}}),
               sample({{4}, {}}).indices(1, 4),
               sample({{3, 2}, {2}}).given(1, Tensor::vector<std::int64_t>({-1, 0})),
               rejects({{3}, {2}}, "axis 1 is outside").indices(1, 3).with({{"axis", 1}})};
  return p;
}

}  // namespace tenon::ops
