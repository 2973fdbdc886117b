// gather_adjoint(dy, indices, shape; axis): rows added into zeros of a shape, at indices.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  auto shape = c.dims(2);
  if (!shape) return Types{Type::unranked(c.in(0).dtype())};
  TENON_TRY(c.axis(c.integer("axis"), static_cast<int>(shape->size())));
  return Types{Type(c.in(0).dtype(), *shape)};
}

// x[a..., r, b...] = sum of dy[a..., i, b...] over all i with indices[i] == r
template <class W>
Tensor add_rows(const Tensor& dy, const std::vector<std::int64_t>& indices, const Dims& shape,
                int axis) {
  const std::int64_t size = shape[static_cast<std::size_t>(axis)],
                     inner = num_elements(Dims(shape.begin() + axis + 1, shape.end()));
  const auto n = static_cast<std::int64_t>(indices.size());
  const auto values = wide<W>(dy);
  std::vector<W> out(static_cast<std::size_t>(num_elements(shape)), W{0});
  for (std::int64_t k = 0; k < dy.count(); ++k) {
    const std::int64_t b = k % inner, i = indices[static_cast<std::size_t>(k / inner % n)],
                       a = k / inner / n;
    out[static_cast<std::size_t>((a * size + (i < 0 ? i + size : i)) * inner + b)] +=
        values[static_cast<std::size_t>(k)];
  }
  return narrow(out, dy.dtype(), shape);
}

Result<Datums> eval(const EvalCall& e) {
  const Dims shape = integers(e.in(2));
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), static_cast<int>(shape.size())));
  const auto indices = integers(e.in(1));
  for (std::int64_t i : indices)
    if (i < -shape[static_cast<std::size_t>(axis)] || i >= shape[static_cast<std::size_t>(axis)])
      return invalid("gather_adjoint: index {} is outside of an axis of {}", i,
                     shape[static_cast<std::size_t>(axis)]);
  return visit_real(e.in(0).dtype(), [&](auto w) {
    return Datums{Datum(add_rows<decltype(w)>(e.in(0), indices, shape, axis))};
  });
}

// Linear in dy; its adjoint is the gather again.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.gather(dys[0], c.value(1), Attrs{{"axis", c.integer("axis")}}), nullptr, nullptr};
}

Cost cost(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

// Split over the picked positions, every peer holds a part of the sum; the shape names whole sizes.
Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.out(0).ndim()));
  Factors f;
  f.inputs.resize(3);
  for (int k = 0; k < c.in(1).ndim(); ++k) f.inputs[1].push_back(fmt::format("i{}", k));
  f.inputs[0].assign(static_cast<std::size_t>(axis), "");
  f.inputs[0].insert(f.inputs[0].end(), f.inputs[1].begin(), f.inputs[1].end());
  f.inputs[0].resize(static_cast<std::size_t>(c.in(0).ndim()), "");
  f.inputs[2] = {""};
  f.outputs = {std::vector<std::string>(static_cast<std::size_t>(c.out(0).ndim()), "")};
  return f;
}

}  // namespace

OpPage gather_adjoint() {
  return {
      .name = "gather_adjoint",
      .doc =
          "the adjoint of gather: dy's rows added into zeros of `shape` at `indices` along `axis`",
      .inputs = {{"dy", kNumeric}, {"indices", kIndex, "I"}, {"shape", kIndex, "S"}},
      .attrs = {{"axis", 0}},
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {
          sample({{4, 3}, {4}, {2}}).indices(1, 5).known(2, Tensor::vector<std::int64_t>({5, 3})),
          sample({{2, 2, 2, 3}, {2, 2}, {3}})
              .indices(1, 5)
              .known(2, Tensor::vector<std::int64_t>({2, 5, 3}))
              .with({{"axis", 1}})}};
}

}  // namespace tenon::ops
