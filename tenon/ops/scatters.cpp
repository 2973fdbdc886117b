// Elementwise meeting of updates, and gradients through max, min and products.
#include "tenon/ops/scatters.h"

#include <algorithm>

namespace tenon::ops {
namespace {

template <class W>
W met(W a, W b, Meet meet) {
  switch (meet) {
    case Meet::replace: return b;
    case Meet::add: return a + b;
    case Meet::mul: return a * b;
    case Meet::max: return a < b || b != b ? b : a;
    case Meet::min: return b < a || b != b ? b : a;
  }
  return b;
}

template <class W>
Tensor put_numbers(const Tensor& x, const Tensor& updates, const std::vector<std::int64_t>& to,
                   Meet meet) {
  auto y = wide<W>(x);
  const auto u = wide<W>(updates);
  for (std::size_t k = 0; k < u.size(); ++k) {
    W& at = y[static_cast<std::size_t>(to[k])];
    at = met(at, u[k], meet);
  }
  return narrow(y, x.dtype(), x.dims());
}

// y = max(x, u...): dy goes to whoever equals y, in equal shares.
Values gradient_of_extreme(B g, const Scatter& s, Value* x, Value* updates, Value* y, Value* dy) {
  const DType d = x->type().dtype();
  Value *x_wins = g.cast_to(g.equal(x, y), d), *u_wins = g.cast_to(g.equal(updates, s.pick(y)), d);
  Value* share = g.div(dy, s.put(x_wins, u_wins, "add"));
  return {g.mul(x_wins, share), g.mul(u_wins, s.pick(share))};
}

// y = x * u1 * u2 ...: the product of the others is y / factor, or, where one factor is 0, the
// product of the others for that factor and 0 for the rest. Zeros are counted and replaced by 1 on
// the way.
Values gradient_of_product(B g, const Scatter& s, Value* x, Value* updates, Value* dy) {
  const DType d = x->type().dtype();
  const auto is = [&](Value* v, double n) { return g.cast_to(g.equal(v, g.number(n, d)), d); };
  Value *x_zero = is(x, 0), *u_zero = is(updates, 0);
  Value *x_full = g.add(x, x_zero), *u_full = g.add(updates, u_zero);
  Value *zeros = s.put(x_zero, u_zero, "add"), *weighted = g.mul(dy, s.put(x_full, u_full, "mul"));
  const auto part = [&](Value* count, Value* product, Value* full, Value* zero) {
    Value* counts = g.add(is(count, 0), g.mul(is(count, 1), zero));
    return g.mul(g.div(product, full), counts);
  };
  return {part(zeros, weighted, x_full, x_zero),
          part(s.pick(zeros), s.pick(weighted), u_full, u_zero)};
}

}  // namespace

Result<Meet> meet_of(const Call& c) {
  const std::string& how = c.text("reduction");
  const char* names[] = {"none", "add", "mul", "max", "min"};
  const auto* found = std::find(std::begin(names), std::end(names), how);
  TENON_EXPECT(found != std::end(names), "reduction is none, add, mul, max or min");
  const auto meet = static_cast<Meet>(found - std::begin(names));
  const DType d = c.in(0).dtype();
  TENON_EXPECT(meet == Meet::replace || (kNumeric | kBool).has(d), "a reduction takes numbers",
               c.in(0));
  return meet;
}

Tensor put(const Tensor& x, const Tensor& updates, const std::vector<std::int64_t>& to, Meet meet) {
  if (meet != Meet::replace)
    return visit_real(x.dtype(),
                      [&](auto w) { return put_numbers<decltype(w)>(x, updates, to, meet); });
  Tensor y = x.clone();
  visit_storage(x.dtype(), [&]<class T>(T*) {
    const T* from = reinterpret_cast<const T*>(updates.raw());
    T* out = reinterpret_cast<T*>(y.raw());
    for (std::size_t k = 0; k < to.size(); ++k) out[to[k]] = from[k];
  });
  return y;
}

Values scatter_gradient(B g, const Scatter& s, Meet meet, Value* x, Value* updates, Value* y,
                        Value* dy) {
  switch (meet) {
    case Meet::replace: return {s.put(dy, g.zeros_like(updates), "none"), s.pick(dy)};
    case Meet::add: return {dy, s.pick(dy)};
    case Meet::mul: return gradient_of_product(g, s, x, updates, dy);
    case Meet::max:
    case Meet::min: return gradient_of_extreme(g, s, x, updates, y, dy);
  }
  return {};
}

}  // namespace tenon::ops
