// reduce_log_sum_exp(x, axes): logarithm of the sum of exponentials over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

// m + log(sum e^(x - m)) with m the largest x, or 0 where that is infinite: an infinity less itself
// is NaN
Values decompose(B g, const Call& c) {
  Value *x = widened(g, c.value(0)), *zero = g.number(0, x);
  Attrs kept = c.node().attrs();
  kept.set("keepdims", true);
  Value* top = g.reduce_max(reduction_args(c, x), kept);
  Value* m = g.where(g.is_inf(top), zero, top);
  Value* sum = g.reduce_sum(reduction_args(c, g.exp(g.sub(x, m))), c.node().attrs());
  Value* y = g.add(g.log(sum), c.flag("keepdims") ? m : g.reshape_like(m, sum));
  return {g.cast_to(y, c.in(0).dtype())};
}

// dx = dy e^(x - y); where both are infinite, dy at +infinity and 0 at -infinity
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *y = with_reduced_axes(g, c, c.result(0)), *zero = g.number(0, x);
  Value* below = g.where(g.equal(x, y), zero, g.sub(x, y));
  Value* share = g.where(g.logical_and(g.is_inf(x), g.less(x, zero)), zero, g.exp(below));
  return {g.mul(with_reduced_axes(g, c, dys[0]), share), nullptr};
}

}  // namespace

OpPage reduce_log_sum_exp() {
  OpPage p = reduction(
      "reduce_log_sum_exp",
      "logarithm of the sum of e^x over `axes` (all without them), without overflow, small "
      "floats summed in f32; over nothing -infinity; of integers the integer part",
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
               sample({{5}}).all(DType::i32).range(1, 9),
               sample({{4}}).range(500, 900).without_gradient("steep"),
               sample({{4}}).all(DType::f16)};
  return p;
}

}  // namespace tenon::ops
