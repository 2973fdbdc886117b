// tile(x, repeats): x beside copies of itself, `repeats` times along each axis.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  if (auto n = known_length(c, 1))
    TENON_EXPECT(*n == x.ndim(), "repeats has one number for each axis", x, c.in(1));
  auto repeats = c.dims(1);
  if (!repeats) return Types{x.with_shape(unknown_shape(c, x.ndim()))};
  Type out = x;
  for (int i = 0; i < x.ndim(); ++i) {
    const Dim& n = (*repeats)[static_cast<std::size_t>(i)];
    TENON_EXPECT(at_least(n, 0) != Truth::no, "repeats >= 0", x);
    out = out.with_dim(i, x.dim(i) * n);
  }
  return Types{out};
}

// y[i...] = x[i mod size...]
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Dims repeats = integers(e.in(1)), strides = row_major_strides(x.dims());
  Dims apart, steps, out;  // copies and originals as axes of their own
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    apart.insert(apart.end(), {repeats[i], x.dims()[i]});
    steps.insert(steps.end(), {0, strides[i]});
    out.push_back(repeats[i] * x.dims()[i]);
  }
  return Datums{Datum(copy_strided(x, apart, steps).reshaped(out))};
}

// [a0, b0, a1, b1, ...] from two 1-d values of n elements.
Value* alternate(B g, Value* a, Value* b, std::int64_t n) {
  Value* pairs =
      g.concat(g.reshape(a, g.ints({n, 1})), g.reshape(b, g.ints({n, 1})), Attrs{{"axis", 1}});
  return g.reshape(pairs, g.ints({2 * n}));
}

Values decompose(B g, const Call& c) {
  const int n = c.in(0).ndim();
  if (n == 0) return {g.reshape_like(c.value(0), c.value(0))};
  std::vector<std::int64_t> one_each;
  for (int i = 0; i < n; ++i) one_each.push_back(2 * i);
  Value *repeats = g.cast_to(c.value(1), DType::i64), *sizes = g.shape(c.value(0));
  Value* apart =
      g.expand(g.unsqueeze(c.value(0), g.ints(one_each)), alternate(g, repeats, sizes, n));
  return {g.reshape(apart, g.mul(repeats, sizes), Attrs{{"allow_zero", true}})};
}

// dx = dy summed over the copies
Values gradient(B g, const Call& c, const Values& dys) {
  const int n = c.in(0).ndim();
  if (n == 0) return {dys[0], nullptr};
  std::vector<std::int64_t> copies;
  for (int i = 0; i < n; ++i) copies.push_back(2 * i);
  Value* shape = alternate(g, g.cast_to(c.value(1), DType::i64), g.shape(c.value(0)), n);
  Value* apart = g.reshape(dys[0], shape, Attrs{{"allow_zero", true}});
  return {g.reduce_sum(apart, g.ints(copies), Attrs{{"keepdims", false}}), nullptr};
}

// Axes that are not repeated go through.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  auto repeats = c.known_integers(1);
  for (int i = 0; repeats && i < c.in(0).ndim(); ++i)
    if (const auto k = static_cast<std::size_t>(i); (*repeats)[k] == 1)
      f.inputs[0][k] = f.outputs[0][k] = fmt::format("d{}", i);
  return f;
}

}  // namespace

OpPage tile() {
  OpPage p = movement("tile", "y[i...] = x[i mod size...]: x `repeats` times along each axis");
  p.inputs = {{"x", kAny}, {"repeats", kIndex, "I"}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{2, 3}, {2}}).known(1, i64s({2, 2})),
               sample({{4, 1, 3}, {3}}).known(1, i64s({1, 3, 2})),
               sample({{3}, {1}}).given(1, i64s({4})),
               sample({{2, 3}, {2}}).known(1, i64s({0, 1})),
               sample({{}, {0}}).known(1, i64s({})),
               rejects({{2, 3}, {1}}, "one number for each axis").known(1, i64s({2}))};
  return p;
}

}  // namespace tenon::ops
