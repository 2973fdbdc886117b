// hardmax(x; axis): 1 at the first maximum, 0 elsewhere.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.in(0).ranked()) TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  return Types{c.in(0)};
}

// y = [position == argmax]
Values decompose(B g, const Call& c) {
  Value* x = c.value(0);
  const std::int64_t axis = c.integer("axis"), ndim = c.in(0).ndim();
  Value* first = g.argmax(x, Attrs{{"axis", axis}});
  return {g.cast_to(
      g.equal(first, positions_along(g, x, static_cast<int>(axis < 0 ? axis + ndim : axis))),
      c.in(0).dtype())};
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

OpPage hardmax() {
  return {.name = "hardmax",
          .doc = "1 at the first largest element along `axis`, 0 elsewhere",
          .inputs = {{"x", kFloat}},
          .attrs = {{"axis", -1}},
          .infer = infer,
          .decompose = decompose,
          .gradient = none("piecewise constant: the derivative is 0 wherever there is one"),
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 3}}), sample({{2, 3, 4}}).with({{"axis", 1}}),
                      sample({{4, 2}}).range(1, 1).with({{"axis", -2}}),
                      rejects({{2}}, "axis 1 is outside").with({{"axis", 1}})}};
}

}  // namespace tenon::ops
