// momentum(rate, count, tensors...): one step of gradient descent with momentum for any number of
// tensors.
#include "tenon/ops/updates.h"

namespace tenon::ops {
namespace {

constexpr int kStates = 1;

Result<Types> infer(const Call& c) {
  if (c.text("mode") != "standard" && c.text("mode") != "nesterov")
    return invalid("mode is standard or nesterov but '{}' is given", c.text("mode"));
  return infer_update(c, kStates);
}

// tensors: x, g, v
Values rule(B g, const Call& c, const Values& t, Value* rate, Value* count) {
  Value* x = t[0];
  const auto number = [&](double v) { return g.number(v, x); };
  Value* slope = g.add(t[1], g.mul(x, number(c.real("norm_coefficient"))));
  Value* share = g.where(g.less_equal(count, number(0)), number(1), number(c.real("beta")));
  Value* v = g.add(g.mul(t[2], number(c.real("alpha"))), g.mul(slope, share));
  Value* step = c.text("mode") == "nesterov" ? g.add(slope, g.mul(v, number(c.real("alpha")))) : v;
  return {g.sub(x, g.mul(rate, step)), v};
}

Values decompose(B g, const Call& c) { return update_all(g, c, kStates, rule); }

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

}  // namespace

OpPage momentum() {
  return {.name = "momentum",
          .doc =
              "g = gradient + norm_coefficient * x, v = alpha * v + beta * g (beta counts as 1 for "
              "count 0), x -= rate * v, or rate * (g + alpha * v) in mode nesterov; values, "
              "gradients, velocities v, as many tensors as given",
          .inputs = update_inputs(),
          .outputs = {"values", "states"},
          .attrs = {AttrSpec::required("alpha", Attr::Kind::real),
                    AttrSpec::required("beta", Attr::Kind::real),
                    {"mode", "standard"},
                    {"norm_coefficient", 0.0}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = [](const Call& c) { return sharding_update(c, kStates); },
          .samples = {sample({{}, {}, {2, 4}, {2, 4}, {2, 4}})
                          .range_of(0, 0.1, 0.5)
                          .range_of(4, 0.5, 1)
                          .given(1, Tensor::scalar<std::int64_t>(3))
                          .with({{"alpha", 0.9}, {"beta", 0.5}, {"norm_coefficient", 0.1}}),
                      sample({{}, {}, {2}, {3, 1}, {2}, {3, 1}, {2}, {3, 1}})
                          .range_of(0, 0.1, 0.5)
                          .range_of(6, 0.5, 1)
                          .range_of(7, 0.5, 1)
                          .given(1, Tensor::scalar<std::int64_t>(0))
                          .with({{"alpha", 0.9}, {"beta", 0.5}, {"mode", "nesterov"}}),
                      rejects({{}, {}, {2}, {2}, {3}}, "state.size is 3 but value.size is 2")
                          .dtypes({DType::f32, DType::i64, DType::f32, DType::f32, DType::f32})
                          .with({{"alpha", 0.9}, {"beta", 0.5}}),
                      rejects({{}, {}, {2}}, "tensors come in groups of 3")
                          .dtypes({DType::f32, DType::i64, DType::f32})
                          .with({{"alpha", 0.9}, {"beta", 0.5}}),
                      rejects({{}, {}, {2}, {2}, {2}}, "mode is standard or nesterov")
                          .dtypes({DType::f32, DType::i64, DType::f32, DType::f32, DType::f32})
                          .with({{"alpha", 0.9}, {"beta", 0.5}, {"mode", "heavy"}})}};
}

}  // namespace tenon::ops
