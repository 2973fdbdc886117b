// matmul(a, b): matrix product over the last two axes, broadcast over the leading ones.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// A 1-d operand acts as one row (a) or one column (b); its axis is not in the result.
Result<Types> infer(const Call& c) {
  const Type &a = c.in(0), &b = c.in(1);
  if (!a.ranked() || !b.ranked()) return Types{Type::unranked(a.dtype())};
  TENON_EXPECT(a.ndim() >= 1 && b.ndim() >= 1, "ndim >= 1", a, b);
  TENON_EXPECT_SAME(a.dim(-1), b.dim(b.ndim() == 1 ? 0 : -2), "a.cols == b.rows");
  const Shape lead_a(a.shape().begin(), a.shape().end() - std::min(a.ndim(), 2));
  const Shape lead_b(b.shape().begin(), b.shape().end() - std::min(b.ndim(), 2));
  Shape out = TENON_TRY(broadcast(lead_a, lead_b));
  if (a.ndim() > 1) out.push_back(a.dim(-2));
  if (b.ndim() > 1) out.push_back(b.dim(-1));
  return Types{Type(a.dtype(), std::move(out))};
}

// y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]
template <class W>
Tensor multiply(const Tensor& a, const Tensor& b, const Dims& lead, Dims out) {
  const std::int64_t m = a.ndim() > 1 ? a.dim(-2) : 1, k = a.dim(-1),
                     n = b.ndim() > 1 ? b.dim(-1) : 1;
  const auto x = wide<W>(a), y = wide<W>(b);
  const Dims lead_a(a.dims().begin(), a.dims().end() - std::min(a.ndim(), 2)),
      lead_b(b.dims().begin(), b.dims().end() - std::min(b.ndim(), 2));
  const Dims step_a = broadcast_strides(lead_a, lead), step_b = broadcast_strides(lead_b, lead);
  std::vector<W> z(static_cast<std::size_t>(num_elements(out)), W{});
  for_each_index(lead, [&](const Dims& at, std::int64_t batch) {
    const W* p = x.data() + offset_of(at, step_a) * m * k;
    const W* q = y.data() + offset_of(at, step_b) * k * n;
    W* r = z.data() + batch * m * n;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t l = 0; l < k; ++l)
        for (std::int64_t j = 0; j < n; ++j) r[i * n + j] += p[i * k + l] * q[l * n + j];
  });
  return narrow(z, a.dtype(), std::move(out));
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor &a = e.in(0), &b = e.in(1);
  const Dims lead = broadcast_dims(Dims(a.dims().begin(), a.dims().end() - std::min(a.ndim(), 2)),
                                   Dims(b.dims().begin(), b.dims().end() - std::min(b.ndim(), 2)));
  Dims out = lead;
  if (a.ndim() > 1) out.push_back(a.dim(-2));
  if (b.ndim() > 1) out.push_back(b.dim(-1));
  return visit_wide(a.dtype(),
                    [&](auto w) { return Datums{Datum(multiply<decltype(w)>(a, b, lead, out))}; });
}

Value* swap_last_two(B g, Value* x) {
  std::vector<std::int64_t> perm;
  for (int i = 0; i < x->type().ndim(); ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return g.transpose(x, Attrs{{"perm", perm}});
}

// x's leading axes folded into its rows.
Value* as_matrix(B g, Value* x) { return g.reshape_to(x, {Dim(-1), x->type().dim(-1)}); }

// y = a b  =>  da = dy b^T, db = a^T dy, each summed over broadcast leading axes. A matrix b shared
// by all leading axes of a gets its sum from one product, not from one for each of them.
Values gradient(B g, const Call& c, const Values& dys) {
  Value *a = c.value(0), *b = c.value(1), *dy = dys[0];
  Value* a2 = c.in(0).ndim() == 1 ? g.unsqueeze(a, g.ints({0})) : a;
  Value* b2 = c.in(1).ndim() == 1 ? g.unsqueeze(b, g.ints({1})) : b;
  if (c.in(1).ndim() == 1) dy = g.unsqueeze(dy, g.ints({-1}));
  if (c.in(0).ndim() == 1) dy = g.unsqueeze(dy, g.ints({-2}));
  Value* da = g.sum_to(g.matmul(dy, swap_last_two(g, b2)), a2);
  const bool shared = a2->type().ndim() > 2 && b2->type().ndim() == 2 &&
                      !(a2->type().count() == Dim(0)) && !(dy->type().count() == Dim(0));
  Value* db = shared ? g.matmul(swap_last_two(g, as_matrix(g, a2)), as_matrix(g, dy))
                     : g.sum_to(g.matmul(swap_last_two(g, a2), dy), b2);
  if (c.in(0).ndim() == 1) da = g.reshape_like(da, a);
  if (c.in(1).ndim() == 1) db = g.reshape_like(db, b);
  return {da, db};
}

Cost cost(const Call& c) {
  return {Dim(2) * c.out(0).count() * c.in(0).dim(-1), c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  const char* a = c.in(0).ndim() == 1 ? "k" : "... m k";
  const char* b = c.in(1).ndim() == 1 ? "k" : "... k n";
  const std::string y =
      std::string("...") + (c.in(0).ndim() == 1 ? "" : " m") + (c.in(1).ndim() == 1 ? "" : " n");
  return factors(fmt::format("{}, {} -> {}", a, b, y)).resolve(c);
}

}  // namespace

OpPage matmul() {
  return {.name = "matmul",
          .doc =
              "y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]; leading axes broadcast, "
              "1-d operands are vectors",
          .inputs = {{"a", kNumeric}, {"b", kNumeric}},
          .traits = {Trait::contraction},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {sample({{2, 3}, {3, 4}}), sample({{5, 2, 3}, {3, 4}}),
                      sample({{2, 1, 2, 3}, {4, 3, 2}}), sample({{3}, {3}}),
                      sample({{3}, {2, 3, 4}}), sample({{2, 4, 3}, {3}}), sample({{2, 0}, {0, 3}}),
                      sample({{2, 3}, {3, 2}}).all(DType::i32).range(-5, 5),
                      rejects({{2, 3}, {4, 5}}, "a.cols is 3 but b.rows is 4")}};
}

}  // namespace tenon::ops
