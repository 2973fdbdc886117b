// reduce_sum_square(x, axes): sum of squares over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Values decompose(B g, const Call& c) {
  const DType type = c.in(0).dtype();
  Value* x = is_floating(type) ? widened(g, c.value(0)) : c.value(0);
  return {g.cast_to(g.reduce_sum(reduction_args(c, g.square(x)), c.node().attrs()), type)};
}

// dx = 2 x dy
Values gradient(B g, const Call& c, const Values& dys) {
  Value* x = c.value(0);
  return {g.mul(with_reduced_axes(g, c, dys[0]), g.mul(x, g.number(2, x))), nullptr};
}

}  // namespace

OpPage reduce_sum_square() {
  OpPage p = reduction(
      "reduce_sum_square",
      "sum of x^2 over `axes` (all without them), small floats summed in f32; an empty sum "
      "is 0",
      kNumeric, "sum");
  p.decompose = decompose;
  p.gradient = gradient;
  p.cost = cost_of_decomposition;
  p.samples = {sample({{2, 3, 4}}),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})),
               sample({{2, 3, 4}, {2}})
                   .known(1, Tensor::vector<std::int64_t>({-1, 0}))
                   .with({{"keepdims", false}}),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}),
               sample({{3, 0}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .without_gradient("no element"),
               sample({{5}}).all(DType::i32).range(-9, 9),
               sample({{4}}).all(DType::bf16).within(1e-2)};
  return p;
}

}  // namespace tenon::ops
