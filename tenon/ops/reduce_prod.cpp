// reduce_prod(x, axes): product over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

// integers wrap
double multiply(double a, double b) { return a * b; }
std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Result<Datums> eval(const EvalCall& e) {
  const auto axes = *TENON_TRY(reduced_axes(e.call));
  return visit_real(e.in(0).dtype(), [&](auto w) {
    using W = decltype(w);
    const Fold<W> fold = {W{1}, [](W a, W b) { return multiply(a, b); }};
    return Datums{Datum(reduce<W>(e.in(0), axes, e.call.flag("keepdims"), fold))};
  });
}

// dx = dy * product of the others: along each axis the elements before and after, then the product
// over that axis takes its place; exact where factors are 0, unlike y / x
Values gradient(B g, const Call& c, const Values& dys) {
  auto axes = reduced_axes(c);
  Value *dx = with_reduced_axes(g, c, dys[0]), *rest = c.value(0);
  if (!axes.ok() || !*axes) {
    g.builder().fail(unsupported("reduce_prod: the gradient needs axes that are known"));
    return {nullptr, nullptr};
  }
  for (int a : **axes) {
    Value* axis = g.constant(Tensor::scalar<std::int64_t>(a));
    Value* before = g.cumprod(rest, axis, Attrs{{"exclusive", true}});
    Value* after = g.cumprod(rest, axis, Attrs{{"exclusive", true}, {"reverse", true}});
    dx = g.mul(dx, g.mul(before, after));
    rest = g.reduce_prod(rest, g.ints({a}));
  }
  return {dx, nullptr};
}

}  // namespace

OpPage reduce_prod() {
  OpPage p =
      reduction("reduce_prod", "product over `axes` (all without them); an empty product is 1",
                kNumeric, "prod");
  p.eval = eval;
  p.decompose = none("core");
  p.gradient = gradient;
  p.samples = {sample({{2, 3, 4}}),
               sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})),
               sample({{2, 3, 4}, {2}})
                   .known(1, Tensor::vector<std::int64_t>({-1, 0}))
                   .with({{"keepdims", false}}),
               sample({{2, 3}}).with({{"noop_with_empty_axes", true}}),
               sample({{3, 0}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .without_gradient("no element"),
               sample({{4}}).all(DType::i32).range(-9, 9),
               sample({{3}}).given(0, Tensor::vector<float>({2, 0, 3})),
               sample({{3}}).given(0, Tensor::vector<float>({0, 0, 3}))};
  return p;
}

}  // namespace tenon::ops
