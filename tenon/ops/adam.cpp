// adam(rate, count, tensors...): one step of Adam for any number of tensors.
#include "tenon/ops/updates.h"

namespace tenon::ops {
namespace {

constexpr int kStates = 2;

Result<Types> infer(const Call& c) { return infer_update(c, kStates); }

// tensors: x, g, v, h
Values rule(B g, const Call& c, const Values& t, Value* rate, Value* count) {
  Value *x = t[0], *one = g.number(1, x);
  const auto number = [&](double v) { return g.number(v, x); };
  const double alpha = c.real("alpha"), beta = c.real("beta");
  Value* slope = g.add(t[1], g.mul(x, number(c.real("norm_coefficient"))));
  Value* v = g.add(g.mul(t[2], number(alpha)), g.mul(slope, number(1 - alpha)));
  Value* h = g.add(g.mul(t[3], number(beta)), g.mul(g.mul(slope, slope), number(1 - beta)));
  // Count 0 has no bias to correct; 1 stands in so that no quotient is 0 / 0.
  Value *starts = g.less_equal(count, number(0)), *n = g.where(starts, one, count);
  Value* corrected = g.div(g.mul(rate, g.sqrt(g.sub(one, g.pow(number(beta), n)))),
                           g.sub(one, g.pow(number(alpha), n)));
  Value* r = g.where(starts, rate, corrected);
  Value* now = g.sub(x, g.div(g.mul(r, v), g.add(g.sqrt(h), number(c.real("epsilon")))));
  return {g.mul(now, number(1 - c.real("norm_coefficient_post"))), v, h};
}

Values decompose(B g, const Call& c) { return update_all(g, c, kStates, rule); }

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

}  // namespace

OpPage adam() {
  return {.name = "adam",
          .doc =
              "g = gradient + norm_coefficient * x, v = alpha * v + (1 - alpha) * g, h = beta * h "
              "+ (1 - beta) * g^2, x -= r * v / (sqrt(h) + epsilon), then x *= 1 - "
              "norm_coefficient_post; r = rate * sqrt(1 - beta^count) / (1 - alpha^count), rate "
              "for count 0; values, gradients, averages v and h, as many tensors as given",
          .inputs = update_inputs(),
          .outputs = {"values", "states"},
          .attrs = {{"alpha", 0.9},
                    {"beta", 0.999},
                    {"epsilon", 1e-6},
                    {"norm_coefficient", 0.0},
                    {"norm_coefficient_post", 0.0}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = [](const Call& c) { return sharding_update(c, kStates); },
          .samples = {
              sample({{}, {}, {2, 4}, {2, 4}, {2, 4}, {2, 4}})
                  .range_of(0, 0.1, 0.5)
                  .range_of(5, 0.5, 1)
                  .given(1, Tensor::scalar<std::int64_t>(3))
                  .with({{"alpha", 0.8},
                         {"beta", 0.7},
                         {"epsilon", 0.01},
                         {"norm_coefficient", 0.1},
                         {"norm_coefficient_post", 0.1}}),
              sample({{}, {}, {2}, {3, 1}, {2}, {3, 1}, {2}, {3, 1}, {2}, {3, 1}})
                  .range_of(0, 0.1, 0.5)
                  .range_of(8, 0.5, 1)
                  .range_of(9, 0.5, 1)
                  .given(1, Tensor::scalar<std::int64_t>(0))
                  .with({}),
              rejects({{}, {}, {2}, {2}, {2}, {3}}, "state.size is 3 but value.size is 2")
                  .dtypes({DType::f32, DType::i64, DType::f32, DType::f32, DType::f32, DType::f32}),
              rejects({{}, {}, {2}}, "tensors come in groups of 4")
                  .dtypes({DType::f32, DType::i64, DType::f32})}};
}

}  // namespace tenon::ops
