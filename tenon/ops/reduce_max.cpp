// reduce_max(x, axes): largest element over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Result<Datums> eval(const EvalCall& e) { return eval_extreme(e, true); }

}  // namespace

OpPage reduce_max() {
  OpPage p = reduction("reduce_max",
                       "largest element over `axes` (all without them), NaN when one is; over nothing it is "
                       "the least value of the type", kNumeric | kBool, "max");
  p.eval = eval;
  p.decompose = none("core");
  p.gradient = gradient_extreme;
  p.samples = {sample({{2, 3, 4}}).distinct(),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).distinct(),
               sample({{2, 3, 4}, {2}}).known(1, Tensor::vector<std::int64_t>({-1, 0})).with({{"keepdims", false}}).distinct(),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}).distinct(),
               sample({{3, 0}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).without_gradient("no element"),
               sample({{4}}).all(DType::u8).range(0, 255), sample({{2, 2}}).all(DType::boolean).range(0, 1),
               sample({{0}}).all(DType::i32), sample({{4}}).all(DType::f16)};
  return p;
}

}  // namespace tenon::ops
