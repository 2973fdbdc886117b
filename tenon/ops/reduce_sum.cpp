// reduce_sum(x, axes): sum over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Result<Datums> eval(const EvalCall& e) {
  const auto axes = *TENON_TRY(reduced_axes(e.call));
  return visit_real(e.in(0).dtype(), [&](auto w) {
    using W = decltype(w);
    return Datums{Datum(
        reduce<W>(e.in(0), axes, e.call.flag("keepdims"), {W{0}, [](W a, W b) { return a + b; }}))};
  });
}

// y = sum of x  =>  dx = dy, broadcast back
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.expand(with_reduced_axes(g, c, dys[0]), g.shape(c.value(0))), nullptr};
}

}  // namespace

OpPage reduce_sum() {
  return {
      .name = "reduce_sum",
      .doc = "sum over `axes` (all without them); an empty sum is 0",
      .inputs = reduction_inputs(kNumeric),
      .attrs = reduction_attrs(),
      .traits = {Trait::reduction},
      .infer = infer_reduction,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost_reduction,
      .sharding = [](const Call& c) { return sharding_reduction(c, "sum"); },
      .samples = {
          sample({{2, 3, 4}}), sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})),
          sample({{2, 3, 4}, {2}})
              .known(1, Tensor::vector<std::int64_t>({-1, 0}))
              .with({{"keepdims", false}}),
          sample({{2, 3}}).with({{"noop_with_empty_axes", true}}),
          sample({{3, 0}, {1}}).known(1, Tensor::vector<std::int64_t>({1})),
          sample({{4}}).all(DType::i32).range(-9, 9),
          rejects({{2, 3}, {1}}, "axis 2 is outside").known(1, Tensor::vector<std::int64_t>({2}))}};
}

}  // namespace tenon::ops
