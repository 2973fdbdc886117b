// reduce_mean(x, axes): average over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

// the sum divided by how many there are
Values decompose(B g, const Call& c) {
  const DType type = c.in(0).dtype();
  Value* x = is_floating(type) ? widened(g, c.value(0)) : c.value(0);
  Value* sum = g.reduce_sum(reduction_args(c, x), c.node().attrs());
  return {g.cast_to(g.div(sum, folded_count(g, c, x->type().dtype())), type)};
}

// dx = dy / count, broadcast back
Values gradient(B g, const Call& c, const Values& dys) {
  Value* share = g.div(dys[0], folded_count(g, c, c.in(0).dtype()));
  return {g.expand(with_reduced_axes(g, c, share), g.shape(c.value(0))), nullptr};
}

}  // namespace

OpPage reduce_mean() {
  OpPage p =
      reduction("reduce_mean",
                "average over `axes` (all without them), small floats summed in f32; integers "
                "truncate toward zero; over nothing NaN, of integers 0",
                kNumeric, "");
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
               sample({{2, 4}}).all(DType::bf16)};
  return p;
}

}  // namespace tenon::ops
