// reduce_l1(x, axes): sum of magnitudes over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Values decompose(B g, const Call& c) {
  return {g.reduce_sum(reduction_args(c, g.abs(c.value(0))), c.node().attrs())};
}

// dx = dy sign(x); 0 at x = 0
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.mul(with_reduced_axes(g, c, dys[0]), g.sign(c.value(0))), nullptr};
}

}  // namespace

OpPage reduce_l1() {
  OpPage p = reduction("reduce_l1", "sum of |x| over `axes` (all without them); an empty sum is 0",
                       kNumeric, "sum");
  p.decompose = decompose;
  p.gradient = gradient;
  p.cost = cost_of_decomposition;
  p.samples = {sample({{2, 3, 4}}).distinct(),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).distinct(),
               sample({{2, 3, 4}, {2}})
                   .known(1, Tensor::vector<std::int64_t>({-1, 0}))
                   .with({{"keepdims", false}})
                   .distinct(),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}).distinct(),
               sample({{3, 0}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .without_gradient("no element"),
               sample({{5}}).all(DType::i32).range(-9, 9)};
  return p;
}

}  // namespace tenon::ops
