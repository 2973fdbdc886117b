// log_softmax(x; axis): logarithms of softmax, without the detour over tiny numbers.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.in(0).ranked()) TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  return Types{c.in(0)};
}

// y = s - log(sum e^s), s = x - max x
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  Value *x = g.cast_to(c.value(0), wide_float(dtype)), *axis = g.ints({c.integer("axis")});
  Value* s = g.sub(x, g.reduce_max(x, axis));
  return {g.cast_to(g.sub(s, g.log(g.reduce_sum(g.exp(s), axis))), dtype)};
}

// dx = dy - e^y * sum(dy)
Values gradient(B g, const Call& c, const Values& dys) {
  return {
      g.sub(dys[0], g.mul(g.exp(c.result(0)), g.reduce_sum(dys[0], g.ints({c.integer("axis")}))))};
}

Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  Factors f;
  f.inputs.resize(1);
  for (int i = 0; i < c.in(0).ndim(); ++i)
    f.inputs[0].push_back(i == axis ? "" : fmt::format("d{}", i));
  f.outputs = f.inputs;
  return f;
}

}  // namespace

OpPage log_softmax() {
  return {.name = "log_softmax",
          .doc = "y = x - log(sum of e^x along `axis`)",
          .inputs = {{"x", kFloat}},
          .attrs = {{"axis", -1}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 3}}), sample({{2, 3, 4}}).with({{"axis", 1}}),
                      sample({{4, 5}}).range(-800, 800), sample({{2, 4}}).all(DType::f16),
                      rejects({{2}}, "axis 1 is outside").with({{"axis", 1}})}};
}

}  // namespace tenon::ops
