// bernoulli(x, key; dtype, seed): coins that fall on 1 with probability x.
#include "tenon/ops/random_draws.h"

namespace tenon::ops {
namespace {

DType type_of(const Call& c) { return c.has_attr("dtype") ? c.dtype("dtype") : c.in(0).dtype(); }

Result<Types> infer(const Call& c) { return Types{c.in(0).with_dtype(type_of(c))}; }

// y = u < x, u even in [0, 1)
Values decompose(B g, const Call& c) {
  const DType wide = c.in(0).dtype() == DType::f64 ? DType::f64 : DType::f32;
  Value* u = g.random_uniform_like(c.value(0), c.value(1),
                                   Attrs{{"dtype", wide}, {"seed", c.integer("seed")}});
  return {g.cast_to(g.less(u, g.cast_to(c.value(0), wide)), type_of(c))};
}

// A staircase in x: 0 wherever it has a derivative.
Values gradient(B, const Call& c, const Values&) {
  return Values(static_cast<std::size_t>(c.num_inputs()), nullptr);
}

}  // namespace

OpPage bernoulli() {
  return {.name = "bernoulli",
          .doc = "y = 1 with probability x, else 0, in the type of x or `dtype`",
          .inputs = {{"x", kFloat}, key_input()},
          .attrs = {AttrSpec::optional("dtype", Attr::Kind::dtype), {"seed", 0}},
          .traits = {Trait::random},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding_elementwise,
          .samples = {sample({{2, 3}}).range(0, 1),
                      sample({{2, 4}}).range(0, 1).with({{"dtype", DType::i32}, {"seed", 3}}),
                      sample({{4}, {}})
                          .all(DType::f16)
                          .range(0, 1)
                          .given(1, Tensor::scalar<std::int64_t>(9))
                          .with({{"dtype", DType::boolean}})}};
}

}  // namespace tenon::ops
