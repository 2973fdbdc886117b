// gemm(a, b, c): scaled matrix product plus scaled c.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &a = c.in(0), &b = c.in(1);
  if (!a.ranked() || !b.ranked()) return Types{Type::unranked(a.dtype())};
  TENON_EXPECT(a.ndim() == 2 && b.ndim() == 2, "a and b are matrices", a, b);
  const bool ta = c.flag("trans_a"), tb = c.flag("trans_b");
  TENON_EXPECT_SAME(a.dim(ta ? 0 : 1), b.dim(tb ? 1 : 0), "a.inner == b.inner");
  const Shape out = {a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)};
  if (c.has(2) && c.in(2).ranked()) {
    TENON_EXPECT(c.in(2).ndim() <= 2, "c broadcasts to the product", c.in(2));
    const Shape both = TENON_TRY(broadcast(out, c.in(2).shape()));
    for (std::size_t i = 0; i < 2; ++i)
      TENON_EXPECT_SAME(both[i], out[i], "c.size == the product's size");
  }
  return Types{a.with_shape(out)};
}

Value* scaled(B g, Value* x, double factor) {
  return factor == 1 ? x : g.mul(x, g.number(factor, x));
}
Value* turned(B g, Value* x, bool turn) {
  return turn ? g.transpose(x, Attrs{{"perm", Attr::Integers{1, 0}}}) : x;
}

// y = alpha * a' b' + beta * c
Values decompose(B g, const Call& c) {
  Value* y = scaled(
      g,
      g.matmul(turned(g, c.value(0), c.flag("trans_a")), turned(g, c.value(1), c.flag("trans_b"))),
      c.real("alpha"));
  return {c.has(2) ? g.add(y, scaled(g, c.value(2), c.real("beta"))) : y};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

// The inner axis stays whole when c is added, or every peer would add it.
Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs = {
      c.flag("trans_a") ? std::vector<std::string>{"k", "m"} : std::vector<std::string>{"m", "k"},
      c.flag("trans_b") ? std::vector<std::string>{"n", "k"} : std::vector<std::string>{"k", "n"}};
  f.outputs = {{"m", "n"}};
  if (!c.has(2)) return f;
  f.whole_factors = {"k"};
  std::vector<std::string> names;
  for (int i = 0; i < c.in(2).ndim(); ++i)
    names.emplace_back(c.in(2).dim(i) == Dim(1) ? "" : i == c.in(2).ndim() - 1 ? "n" : "m");
  f.inputs.push_back(names);
  return f;
}

}  // namespace

OpPage gemm() {
  return {.name = "gemm",
          .doc =
              "alpha * a b + beta * c for matrices, a and b transposed first where asked; c "
              "broadcasts to the product",
          .inputs = {{"a", kNumeric}, {"b", kNumeric}, maybe("c", kNumeric)},
          .attrs = {{"alpha", 1.0}, {"beta", 1.0}, {"trans_a", false}, {"trans_b", false}},
          .traits = {Trait::contraction},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {
              sample({{4, 3}, {3, 5}, {5}}),
              sample({{3, 4}, {2, 3}}).with({{"trans_a", true}, {"trans_b", true}, {"alpha", 0.5}}),
              sample({{4, 3}, {3, 2}, {4, 1}}).with({{"beta", 0.25}}), sample({{2, 3}, {3, 2}, {}}),
              sample({{0, 3}, {3, 2}, {1, 2}}),
              sample({{2, 3}, {3, 2}, {2}}).all(DType::i32).range(-5, 5).with({{"beta", 2.0}}),
              rejects({{4, 3}, {2, 5}}, "a.inner is 3 but b.inner is 2"),
              rejects({{4, 3}, {3, 5}, {2, 4, 5}}, "c broadcasts to the product"),
              rejects({{1, 3}, {3, 5}, {4, 5}}, "c.size is 4 but the product's size is 1")}};
}

}  // namespace tenon::ops
