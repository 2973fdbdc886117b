// nll_loss(x, target, weight): negative log-likelihood of the target classes.
#include "tenon/ops/losses.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{TENON_TRY(infer_loss(c))}; }

Values decompose(B g, const Call& c) {
  return {g.cast_to(loss_of(g, c, g.cast_to(c.value(0), wide_float(c.in(0).dtype()))),
                    c.in(0).dtype())};
}

// dx = -share at the target class, 0 elsewhere; the weights get theirs through the composition
Values gradient(B g, const Call& c, const Values& dys) {
  const Targets t = targets_of(g, c, wide_float(c.in(0).dtype()));
  Value* dx = g.masked(is_target(g, c, t), g.neg(loss_shares(g, c, t, dys[0])));
  Values dxs = {g.cast_to(dx, c.in(0).dtype()), nullptr};
  if (c.has(2)) dxs.push_back(gradient_of_decomposition(g, c, dys)[2]);
  return dxs;
}

}  // namespace

OpPage nll_loss() {
  return {.name = "nll_loss",
          .doc =
              "-x[n, target, d] * weight[target] for log-probabilities x [n, c, d...], summed, or "
              "averaged by weight; targets equal to ignore_index count for nothing",
          .inputs = loss_inputs(),
          .outputs = {"loss"},
          .attrs = loss_attrs(),
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding_loss,
          .samples = {
              sample({{4, 3}, {4}}).indices(1, 3),
              sample({{2, 3, 4}, {2, 4}, {3}}).indices(1, 3).range_of(2, 0.5, 1.5),
              sample({{4, 3}, {4}}).indices(1, 3).with({{"reduction", "sum"}, {"ignore_index", 1}}),
              sample({{4, 3, 2}, {4, 2}, {3}})
                  .indices(1, 3)
                  .range_of(2, 0.5, 1.5)
                  .with({{"reduction", "none"}}),
              sample({{3, 3}, {3}})
                  .given(1, Tensor::vector<std::int32_t>({2, -100, 0}))
                  .with({{"ignore_index", -100}}),
              rejects({{4, 3}, {4, 1}}, "target is").dtypes({DType::f32, DType::i64}),
              rejects({{4, 3}, {3}}, "target.size is 3 but x.size is 4")
                  .dtypes({DType::f32, DType::i64}),
              rejects({{4, 3}, {4}}, "reduction is none")
                  .dtypes({DType::f32, DType::i64})
                  .with({{"reduction", "max"}})}};
}

}  // namespace tenon::ops
