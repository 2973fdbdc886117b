// array_feature_extractor(x, indices): columns of x.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1);
  if (!x.ranked() || !indices.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() >= 1, "x.ndim >= 1", x);
  Shape out(x.shape().begin(), x.shape().end() - 1);
  if (out.empty()) out.emplace_back(1);
  out.push_back(indices.count());
  return Types{x.with_shape(out)};
}

// A vector gives one row.
Values decompose(B g, const Call& c) {
  Value* y = g.gather(c.value(0), g.reshape(c.value(1), g.ints({-1})), Attrs{{"axis", -1}});
  return {c.in(0).ndim() == 1 ? g.unsqueeze(y, g.ints({0})) : y};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  if (c.in(0).ndim() == 1) return all_whole(c);
  return axes_through(c, {c.in(0).ndim() - 1});
}

}  // namespace

OpPage array_feature_extractor() {
  return {
      .name = "array_feature_extractor",
      .doc = "the elements of x at `indices` of its last axis; a vector gives a matrix of one row",
      .inputs = {{"x", kAny}, {"indices", kIndex, "I"}},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {sample({{4, 3}, {2}}).indices(1, 3), sample({{3}, {1, 2}}).indices(1, 3),
                  sample({{2, 2, 4}, {3}}).indices(1, 4),
                  rejects({{}, {1}}, "x.ndim >= 1").indices(1, 1)}};
}

}  // namespace tenon::ops
