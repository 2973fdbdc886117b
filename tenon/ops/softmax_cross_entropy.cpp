// softmax_cross_entropy(x, target, weight): negative log-likelihood of the target classes under
// softmax(x).
#include "tenon/ops/losses.h"

namespace tenon::ops {
namespace {

// The log-probabilities are a second output for those who ask for them.
Result<Types> infer(const Call& c) {
  Types out = {TENON_TRY(infer_loss(c))};
  if (c.num_outputs() > 1) out.push_back(c.in(0));
  return out;
}

Value* log_probabilities(B g, const Call& c) {
  return g.log_softmax(g.cast_to(c.value(0), wide_float(c.in(0).dtype())), Attrs{{"axis", 1}});
}

Values decompose(B g, const Call& c) {
  Value* log_p = log_probabilities(g, c);
  Values out = {g.cast_to(loss_of(g, c, log_p), c.in(0).dtype())};
  if (c.num_outputs() > 1) out.push_back(g.cast_to(log_p, c.in(0).dtype()));
  return out;
}

// dx = share * (p - [class == target]), without a division by p; log_p's own gradient is
// log_softmax's
Values gradient(B g, const Call& c, const Values& dys) {
  const DType wide = wide_float(c.in(0).dtype());
  Value* p = g.exp(c.num_outputs() > 1 ? g.cast_to(c.result(1), wide) : log_probabilities(g, c));
  Value* dx = nullptr;
  if (dys[0]) {
    const Targets t = targets_of(g, c, wide);
    Value* share = loss_shares(g, c, t, dys[0]);
    dx = g.sub(g.mul(share, p), g.masked(is_target(g, c, t), share));
  }
  if (dys.size() > 1 && dys[1]) {
    Value* dlog = g.cast_to(dys[1], wide);
    Value* part = g.sub(dlog, g.mul(p, g.reduce_sum(dlog, g.ints({1}))));
    dx = dx ? g.add(dx, part) : part;
  }
  Values dxs = {g.cast_to(dx, c.in(0).dtype()), nullptr};
  if (c.has(2)) dxs.push_back(dys[0] ? gradient_of_decomposition(g, c, {dys[0]})[2] : nullptr);
  return dxs;
}

}  // namespace

OpPage softmax_cross_entropy() {
  return {.name = "softmax_cross_entropy",
          .doc =
              "-log_softmax(x)[n, target, d] * weight[target] for x [n, c, d...], summed, or "
              "averaged by weight; targets equal to ignore_index count for nothing. On demand also "
              "the log-probabilities",
          .inputs = loss_inputs(),
          .outputs = {"loss", "log_prob"},
          .attrs = loss_attrs(),
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding_loss,
          .samples = {
              sample({{4, 3}, {4}}).indices(1, 3),
              sample({{2, 3, 4}, {2, 4}, {3}}).indices(1, 3).range_of(2, 0.5, 1.5).outputs(2),
              sample({{4, 3}, {4}}).indices(1, 3).with({{"reduction", "sum"}, {"ignore_index", 1}}),
              sample({{4, 3, 2}, {4, 2}, {3}})
                  .indices(1, 3)
                  .range_of(2, 0.5, 1.5)
                  .with({{"reduction", "none"}}),
              sample({{3, 4}, {3}})
                  .all(DType::f16)
                  .given(1, Tensor::vector<std::int64_t>({2, 9, 0}))
                  .outputs(2)
                  .with({{"ignore_index", 9}}),
              rejects({{4, 3}, {4}, {4}}, "weight.size is 4 but x.classes is 3")
                  .dtypes({DType::f32, DType::i64, DType::f32}),
              rejects({{4}, {4}}, "x is [n, classes, ...]").dtypes({DType::f32, DType::i64})}};
}

}  // namespace tenon::ops
