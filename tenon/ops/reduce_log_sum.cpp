// reduce_log_sum(x, axes): logarithm of the sum over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Values decompose(B g, const Call& c) {
  const DType type = c.in(0).dtype();
  Value* x = is_floating(type) ? widened(g, c.value(0)) : c.value(0);
  Value* sum = g.reduce_sum(reduction_args(c, x), c.node().attrs());
  return {g.cast_to(g.log(widened(g, sum)), type)};
}

// dx = dy / sum
Values gradient(B g, const Call& c, const Values& dys) {
  Value* share = g.quotient(dys[0], g.reduce_sum(reduction_args(c, c.value(0)), c.node().attrs()));
  return {g.expand(with_reduced_axes(g, c, share), g.shape(c.value(0))), nullptr};
}

}  // namespace

OpPage reduce_log_sum() {
  OpPage p =
      reduction("reduce_log_sum",
                "logarithm of the sum over `axes` (all without them), small floats summed in f32; "
                "over nothing -infinity; of integers the integer part",
                kNumeric, "");
  p.decompose = decompose;
  p.gradient = gradient;
  p.cost = cost_of_decomposition;
  p.samples = {sample({{2, 3, 4}}).range(0.5, 2),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).range(0.5, 2),
               sample({{2, 3, 4}, {2}})
                   .known(1, Tensor::vector<std::int64_t>({-1, 0}))
                   .with({{"keepdims", false}})
                   .range(0.5, 2),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}).range(0.5, 2),
               sample({{3, 0}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .without_gradient("no element"),
               sample({{5}}).all(DType::i32).range(1, 9),
               sample({{4}}).all(DType::f16).range(9e3, 6e4)};
  return p;
}

}  // namespace tenon::ops
