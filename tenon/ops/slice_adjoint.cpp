// slice_adjoint(dy, shape, starts, ends, axes, steps): dy written into zeros where a slice read.
#include "tenon/ops/op_page.h"
#include "tenon/ops/slices.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  auto shape = c.dims(1);
  if (!shape) return Types{Type::unranked(c.in(0).dtype())};
  return Types{Type(c.in(0).dtype(), *shape)};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& dy = e.in(0);
  const Dims shape = integers(e.in(1));
  const auto cuts = TENON_TRY(cuts_of(e.call, 2, shape));
  const Dims strides = row_major_strides(shape);
  Tensor out = Tensor::zeros(dy.dtype(), shape);
  const auto size = static_cast<std::size_t>(size_of(dy.dtype()));
  for_each_index(dy.dims(), [&](const Dims& at, std::int64_t k) {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      to += (cuts[i].start + at[i] * cuts[i].step) * strides[i];
    std::memcpy(out.raw() + static_cast<std::size_t>(to) * size,
                dy.raw() + static_cast<std::size_t>(k) * size, size);
  });
  return Datums{Datum(out)};
}

// Linear in dy; its adjoint is the slice again.
Values gradient(B g, const Call& c, const Values& dys) {
  Values args = {dys[0], c.value(2), c.value(3), c.value(4), c.value(5)};
  return {g.slice(args), nullptr, nullptr, nullptr, nullptr, nullptr};
}

Cost cost(const Call& c) { return {Dim(0), c.bytes_in(), c.bytes_out()}; }

Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs.assign(static_cast<std::size_t>(c.num_inputs()), {""});
  f.inputs[0].assign(static_cast<std::size_t>(c.in(0).ndim()), "");
  f.outputs = {std::vector<std::string>(static_cast<std::size_t>(c.out(0).ndim()), "")};
  return f;
}

}  // namespace

OpPage slice_adjoint() {
  const auto v = [](std::vector<std::int64_t> x) { return Tensor::vector(x); };
  return {.name = "slice_adjoint",
          .doc =
              "the adjoint of slice: zeros of `shape` with dy at the positions that slice(x, "
              "starts, ends, axes, steps) reads",
          .inputs = {{"dy", kAny},
                     {"shape", kIndex, "D"},
                     {"starts", kIndex, "I"},
                     {"ends", kIndex, "I"},
                     maybe("axes", kIndex, "A"),
                     maybe("steps", kIndex, "S")},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {
              sample({{2, 5}, {2}, {1}, {1}}).known(1, v({4, 5})).known(2, v({1})).known(3, v({3})),
              sample({{4, 2}, {2}, {1}, {1}, {1}, {1}})
                  .known(1, v({4, 5}))
                  .known(2, v({-1}))
                  .known(3, v({0}))
                  .known(4, v({1}))
                  .known(5, v({-2}))}};
}

}  // namespace tenon::ops
