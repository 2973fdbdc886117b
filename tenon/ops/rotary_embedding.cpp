// rotary_embedding(x, cos, sin, position_ids): pairs of elements turned by an angle that grows with
// the position.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

// Elements of a head that turn.
Result<Dim> rotary_size(const Call& c) {
  const Type& x = c.in(0);
  if (const std::int64_t given = c.integer("rotary_dim"); given > 0) return Dim(given);
  if (x.ndim() == 4) return x.dim(3);
  return floor_div(x.dim(2), Dim(c.integer("num_heads")));
}

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &cos = c.in(1), &sin = c.in(2);
  if (!x.ranked() || !cos.ranked() || !sin.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() == 3 || x.ndim() == 4, "x is [b, heads, s, d] or [b, s, heads * d]", x);
  if (x.ndim() == 3 && (!c.has_attr("num_heads") || c.integer("num_heads") < 1))
    return invalid("num_heads is needed for an x of 3 axes");
  TENON_EXPECT(cos.ndim() == (c.has(3) ? 2 : 3) && sin.ndim() == cos.ndim(),
               "cos and sin are [positions, r / 2] with position_ids, else [b, s, r / 2]", cos,
               sin);
  const Dim size = TENON_TRY(rotary_size(c));
  TENON_EXPECT_SAME(Dim(2) * cos.dim(-1), size, "2 * cos.last == rotary size");
  TENON_EXPECT_SAME(cos.dim(-1), sin.dim(-1), "cos.last == sin.last");
  if (!c.has(3))
    TENON_EXPECT_SAME(cos.dim(1), x.dim(x.ndim() == 4 ? 2 : 1), "cos.steps == x.steps");
  return Types{x};
}

// (a, b) -> (a cos - b sin, a sin + b cos) for the halves of a head, or its even and odd elements
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype(), wide = wide_float(dtype);
  const bool is_packed = c.in(0).ndim() == 3;
  Value* x = g.cast_to(c.value(0), wide);
  if (is_packed) x = g.reshape(x, g.ints({0, 0, c.integer("num_heads"), -1}));
  const auto angles = [&](int i) {
    Value* t = g.cast_to(c.value(i), wide);
    if (c.has(3)) t = g.gather(t, c.value(3));
    return g.unsqueeze(t, g.ints({is_packed ? 2 : 1}));
  };
  Value *cos = angles(1), *sin = angles(2);
  auto size = rotary_size(c);
  if (!size.ok() || !size->is_constant()) {
    g.builder().fail(unsupported("rotary_embedding: the size of a head must be known"));
    return {c.value(0)};
  }
  const std::int64_t r = size->value();
  const bool pairs = c.flag("interleaved");
  const auto side = [&](std::int64_t k) {
    return pairs ? g.slice(x, g.ints({k}), g.ints({r}), g.ints({3}), g.ints({2}))
                 : part_of(g, x, 3, k * r / 2, (k + 1) * r / 2);
  };
  Value *a = side(0), *b = side(1);
  Value *real = g.sub(g.mul(a, cos), g.mul(b, sin)),
        *imaginary = g.add(g.mul(a, sin), g.mul(b, cos));
  Value* y = nullptr;
  if (pairs)
    y = g.reshape(g.concat(g.unsqueeze(real, g.ints({4})), g.unsqueeze(imaginary, g.ints({4})),
                           Attrs{{"axis", 4}}),
                  g.ints({0, 0, 0, r}));
  else
    y = g.concat(real, imaginary, Attrs{{"axis", 3}});
  if (!(x->type().dim(3) == Dim(r)))
    y = g.concat(y, part_of(g, x, 3, r, INT64_MAX), Attrs{{"axis", 3}});
  return {g.cast_to(is_packed ? g.reshape_like(y, c.value(0)) : y, dtype)};
}

// A rotation: its adjoint turns back. The tables get theirs through the composition.
Values gradient(B g, const Call& c, const Values& dys) {
  Values dxs = gradient_of_decomposition(g, c, dys);
  dxs[0] = g.rotary_embedding(dys[0], c.value(1), g.neg(c.value(2)),
                              c.has(3) ? c.value(3) : nullptr, c.node().attrs());
  return dxs;
}

Result<Factors> sharding(const Call& c) {
  Factors f;
  const bool is_packed = c.in(0).ndim() == 3;
  f.inputs = {is_packed ? std::vector<std::string>{"b", "s", ""}
                        : std::vector<std::string>{"b", "h", "s", ""}};
  for (int i = 0; i < 2; ++i)
    f.inputs.push_back(c.has(3) ? std::vector<std::string>{"", ""}
                                : std::vector<std::string>{"b", "s", ""});
  if (c.num_inputs() > 3)
    f.inputs.push_back(c.has(3) ? std::vector<std::string>{"b", "s"} : std::vector<std::string>{});
  f.outputs = {f.inputs[0]};
  return f;
}

}  // namespace

OpPage rotary_embedding() {
  return {.name = "rotary_embedding",
          .doc =
              "pairs of elements of each head turned by an angle: the halves of the first "
              "`rotary_dim` elements (0: all), or even and odd ones with `interleaved`; "
              "cos and sin are given for each step, or looked up by position_ids",
          .inputs = {{"x", kFloat},
                     {"cos", kFloat},
                     {"sin", kFloat},
                     maybe("position_ids", kIndex, "I")},
          .attrs = {{"interleaved", false},
                    AttrSpec::optional("num_heads", Attr::Kind::integer),
                    {"rotary_dim", 0}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 2, 4}, {2, 2, 2}, {2, 2, 2}}),
                      sample({{2, 4, 6}, {5, 1}, {5, 1}, {2, 4}})
                          .indices(3, 5)
                          .with({{"num_heads", 2}, {"rotary_dim", 2}}),
                      sample({{1, 2, 2, 6}, {1, 2, 2}, {1, 2, 2}})
                          .with({{"interleaved", true}, {"rotary_dim", 4}}),
                      sample({{1, 1, 2, 4}, {1, 2, 2}, {1, 2, 2}}).all(DType::f16),
                      rejects({{2, 4, 6}, {2, 4, 3}, {2, 4, 3}}, "num_heads is needed"),
                      rejects({{2, 4, 2, 4}, {2, 2, 3}, {2, 2, 3}},
                              "2 * cos.last is 6 but rotary size is 4")}};
}

}  // namespace tenon::ops
