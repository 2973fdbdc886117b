// eye_like(x; dtype, k): ones on a diagonal, in the shape of x.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const DType d = c.has_attr("dtype") ? c.dtype("dtype") : c.in(0).dtype();
  TENON_EXPECT((kNumeric | kBool).has(d), "the result is numeric", c.in(0));
  if (!c.in(0).ranked()) return Types{Type(d, unknown_shape(c, 2))};
  TENON_EXPECT(c.in(0).ndim() == 2, "x.ndim == 2", c.in(0));
  return Types{Type(d, c.in(0).shape())};
}

Values decompose(B g, const Call& c) {
  Value *row = iota_along(g, size_of_axis(g, c.value(0), 0), 0, 2),
        *column = iota_along(g, size_of_axis(g, c.value(0), 1), 1, 2);
  return {g.cast_to(g.equal(g.add(row, g.ints({c.integer("k")})), column), c.out(0).dtype())};
}

// The diagonal crosses both axes.
Result<Factors> sharding(const Call& c) { return all_whole(c); }

}  // namespace

OpPage eye_like() {
  return {.name = "eye_like",
          .doc =
              "y[i, j] = 1 where j == i + k, else 0, in the shape of x and of type `dtype` (x's by "
              "default)",
          .inputs = {{"x", kNumeric | kBool}},
          .attrs = {AttrSpec::optional("dtype", Attr::Kind::dtype), {"k", 0}},
          .infer = infer,
          .decompose = decompose,
          .gradient = none("does not depend on x's values"),
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{3, 4}}), sample({{4, 3}}).with({{"k", -1}, {"dtype", DType::f64}}),
                      sample({{2, 2}}).all(DType::i32).with({{"k", 1}}),
                      rejects({{2}}, "x.ndim == 2")}};
}

}  // namespace tenon::ops
