// reduce_l2(x, axes): Euclidean length over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Values decompose(B g, const Call& c) {
  Value* x = widened(g, c.value(0));
  return {g.cast_to(g.sqrt(g.reduce_sum(reduction_args(c, g.square(x)), c.node().attrs())),
                    c.in(0).dtype())};
}

// dx = dy x / y; 0 where all x are 0
Values gradient(B g, const Call& c, const Values& dys) {
  Value* y = with_reduced_axes(g, c, c.result(0));
  Value* length = g.where(g.equal(y, g.number(0, y)), g.number(1, y), y);
  return {g.mul(with_reduced_axes(g, c, dys[0]), g.div(c.value(0), length)), nullptr};
}

}  // namespace

OpPage reduce_l2() {
  OpPage p = reduction(
      "reduce_l2",
      "square root of the sum of x^2 over `axes` (all without them), small floats summed in "
      "f32; of integers the integer part",
      kNumeric, "");
  p.decompose = decompose;
  p.gradient = gradient;
  p.cost = cost_of_decomposition;
  p.samples = {sample({{2, 3, 4}}).range(0.2, 1),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).range(0.2, 1),
               sample({{2, 3, 4}, {2}})
                   .known(1, Tensor::vector<std::int64_t>({-1, 0}))
                   .with({{"keepdims", false}})
                   .range(0.2, 1),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}).range(0.2, 1),
               sample({{3, 0}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .without_gradient("no element"),
               sample({{5}}).all(DType::i32).range(-9, 9),
               sample({{4}}).all(DType::f16).range(200, 400)};
  return p;
}

}  // namespace tenon::ops
