// adagrad(rate, count, tensors...): one step of Adagrad for any number of tensors.
#include "tenon/ops/updates.h"

namespace tenon::ops {
namespace {

constexpr int kStates = 1;

Result<Types> infer(const Call& c) { return infer_update(c, kStates); }

// tensors: x, g, h
Values rule(B g, const Call& c, const Values& t, Value* rate, Value* count) {
  Value *x = t[0], *one = g.number(1, x);
  Value* r = g.div(rate, g.add(one, g.mul(count, g.number(c.real("decay_factor"), x))));
  Value* slope = g.add(t[1], g.mul(x, g.number(c.real("norm_coefficient"), x)));
  Value* h = g.add(t[2], g.mul(slope, slope));
  return {g.sub(x, g.div(g.mul(r, slope), g.add(g.sqrt(h), g.number(c.real("epsilon"), x)))), h};
}

Values decompose(B g, const Call& c) { return update_all(g, c, kStates, rule); }

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

}  // namespace

OpPage adagrad() {
  return {
      .name = "adagrad",
      .doc =
          "g = gradient + norm_coefficient * x, h += g^2, x -= rate / (1 + count * decay_factor) * "
          "g / (sqrt(h) + epsilon); values, gradients, squares h, as many tensors as given",
      .inputs = update_inputs(),
      .outputs = {"values", "states"},
      .attrs = {{"decay_factor", 0.0}, {"epsilon", 1e-6}, {"norm_coefficient", 0.0}},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = [](const Call& c) { return sharding_update(c, kStates); },
      .samples = {sample({{}, {}, {2, 4}, {2, 4}, {2, 4}})
                      .range_of(0, 0.1, 0.5)
                      .range_of(4, 0.5, 1)
                      .given(1, Tensor::scalar<std::int64_t>(3))
                      .with({{"decay_factor", 0.1}, {"norm_coefficient", 0.01}}),
                  sample({{}, {}, {2}, {3, 1}, {2}, {3, 1}, {2}, {3, 1}})
                      .range_of(0, 0.1, 0.5)
                      .range_of(6, 0.5, 1)
                      .range_of(7, 0.5, 1)
                      .given(1, Tensor::scalar<std::int64_t>(0))
                      .with({}),
                  rejects({{}, {}, {2}, {2}, {3}}, "state.size is 3 but value.size is 2")
                      .dtypes({DType::f32, DType::i64, DType::f32, DType::f32, DType::f32}),
                  rejects({{}, {}, {2}}, "tensors come in groups of 3")
                      .dtypes({DType::f32, DType::i64, DType::f32})}};
}

}  // namespace tenon::ops
