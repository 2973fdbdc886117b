// dropout(x, ratio, training_mode, key; seed): elements put to 0 at random, the others scaled up.
#include "tenon/ops/random_draws.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{c.in(0), c.in(0).with_dtype(DType::boolean)}; }

// No training mode, or one that is known to be off: y = x.
bool never_drops(const Call& c) {
  const auto mode = c.constant(2);
  return !c.has(2) || (mode && integer_element(*mode, 0) == 0);
}

// The ratio in f32, or f64 when given so.
Value* ratio(B g, const Call& c) {
  if (!c.has(1)) return g.number(0.5, DType::f32);
  return g.cast_to(c.value(1), c.in(1).dtype() == DType::f64 ? DType::f64 : DType::f32);
}

// 1 / (1 - ratio) in training, else 1; of x's type
Value* scale(B g, const Call& c) {
  Value *r = ratio(g, c), *one = g.number(1, r);
  Value* s = g.where(c.value(2), g.div(one, g.sub(one, r)), one);
  return g.cast_to(s, c.in(0).dtype());
}

// mask = u >= ratio with u even in [0, 1), y = mask ? x / (1 - ratio) : 0
Values decompose(B g, const Call& c) {
  Value* x = c.value(0);
  if (never_drops(c))
    return {x, g.expand(g.constant(Tensor::full(DType::boolean, {}, 1)), g.shape(x))};
  Value* r = ratio(g, c);
  Value* u = g.random_uniform_like(x, c.value(3),
                                   Attrs{{"dtype", DType::f32}, {"seed", c.integer("seed")}});
  Value* kept = g.greater_equal(g.cast_to(u, r->type().dtype()), r);
  Value* mask = g.logical_or(kept, g.logical_not(c.value(2)));
  return {g.masked(mask, g.mul(x, scale(g, c))), mask};
}

// dx = mask ? dy / (1 - ratio) : 0; dratio = sum(dy y) / (1 - ratio), the mask held constant
Values gradient(B g, const Call& c, const Values& dys) {
  Values dxs(static_cast<std::size_t>(c.num_inputs()), nullptr);
  Value* dy = dys[0];
  if (!dy) return dxs;
  dxs[0] = never_drops(c) ? dy : g.masked(c.result(1), g.mul(dy, scale(g, c)));
  if (never_drops(c) || !c.has(1) || c.value(1)->is_constant()) return dxs;
  Value *r = ratio(g, c), *one = g.number(1, r);
  Value* sum = g.reduce_sum(g.cast_to(g.mul(dy, c.result(0)), r->type().dtype()),
                            Attrs{{"keepdims", false}});
  Value* slope = g.masked(c.value(2), g.quotient(sum, g.sub(one, r)));
  dxs[1] = g.sum_to(g.cast_to(slope, c.in(1).dtype()), c.value(1));
  return dxs;
}

}  // namespace

OpPage dropout() {
  const Tensor yes = Tensor::full(DType::boolean, {}, 1), no = Tensor::full(DType::boolean, {}, 0),
               half = Tensor::full(DType::f32, {}, 0.5);
  return {.name = "dropout",
          .doc =
              "y = x / (1 - ratio) with probability 1 - ratio, else 0, and the mask of what was "
              "kept; ratio is 0.5 by default; "
              "without training mode y = x",
          .inputs = {{"x", kFloat},
                     maybe("ratio", kFloat, "R"),
                     maybe("training_mode", kBool, "M"),
                     key_input()},
          .outputs = {"y", "mask"},
          .attrs = {{"seed", 0}},
          .traits = {Trait::random},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding_elementwise,
          .samples = {sample({{2, 3}}),
                      sample({{2, 4}, {}, {}}).given(1, half).given(2, yes).with({{"seed", 5}}),
                      sample({{2, 4}, {}, {}}).given(1, half).known(2, no),
                      sample({{4}, {}, {}}).absent(1).given(2, no),
                      sample({{8}, {}, {}, {}})
                          .all(DType::bf16)
                          .given(1, Tensor::full(DType::f16, {}, 0.25))
                          .known(2, yes)
                          .given(3, Tensor::scalar<std::int64_t>(2))}};
}

}  // namespace tenon::ops
