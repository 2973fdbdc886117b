// softmax(x; axis): exponentials along an axis, divided by their sum.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.in(0).ranked()) TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  return Types{c.in(0)};
}

// y = e^(x - max x) / sum e^(x - max x); subtracting the maximum keeps the exponentials finite
Values decompose(B g, const Call& c) {
  Value* axis = g.ints({c.integer("axis")});
  Value* e = g.exp(g.sub(c.value(0), g.reduce_max(c.value(0), axis)));
  return {g.div(e, g.reduce_sum(e, axis))};
}

// dx = y * (dy - sum(dy * y))
Values gradient(B g, const Call& c, const Values& dys) {
  Value *y = c.result(0), *weighted = g.mul(dys[0], y);
  return {g.mul(y, g.sub(dys[0], g.reduce_sum(weighted, g.ints({c.integer("axis")}))))};
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

OpPage softmax() {
  return {.name = "softmax",
          .doc = "y = e^x / sum of e^x along `axis`",
          .inputs = {{"x", kFloat}},
          .attrs = {{"axis", -1}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 3}}), sample({{2, 3, 4}}).with({{"axis", 1}}),
                      sample({{5}}).range(-80, 80).without_gradient("saturated"),
                      rejects({{2}}, "axis 1 is outside").with({{"axis", 1}})}};
}

}  // namespace tenon::ops
