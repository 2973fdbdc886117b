// cumprod(x, axis; exclusive, reverse): running products.
#include <numeric>

#include "tenon/ops/scans.h"

namespace tenon::ops {
namespace {

Result<Datums> eval(const EvalCall& e) {
  return scan(
      e, 1, [](double a, double b) { return a * b; },
      [](std::int64_t a, std::int64_t b) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) *
                                         static_cast<std::uint64_t>(b));
      });
}

// Axes first, first + 1, ... of the result, `count` of them, put into x.
Value* with_axes(B g, Value* x, std::int64_t first, int count) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), first);
  return axes.empty() ? x : g.unsqueeze(x, g.ints(axes));
}

// Whether output i counts element k: k <= i, or strictly, or the other way.
Value* counts(B g, const Call& c, Value* k, Value* i) {
  if (c.flag("reverse")) std::swap(k, i);
  return c.flag("exclusive") ? g.less(k, i) : g.less_equal(k, i);
}

// dx_k = sum over i that count k of dy_i * product of the other factors of y_i. The product without
// x_k is a scan with 1 in its place: exact where factors are 0, unlike y_i / x_k, for n^2 memory.
Values gradient(B g, const Call& c, const Values& dys) {
  auto axis = scanned_axis(c);
  if (!axis.ok() || !*axis) {
    g.builder().fail(unsupported("cumprod: the gradient needs an axis that is known"));
    return {nullptr, nullptr};
  }
  const int a = **axis, after = c.in(0).ndim() - a - 1;
  Value *x = c.value(0), *first = g.constant(Tensor::scalar<std::int64_t>(0));
  Value* size = g.gather(g.shape(x), g.ints({a}));
  Value* numbers = g.cumsum(g.expand(g.constant(Tensor::scalar<std::int64_t>(1)), size), first);
  // [..., k, i, ...]: k the element left out, i the output
  Value *k = with_axes(g, numbers, 1, after + 1), *i = with_axes(g, numbers, 1, after);
  Value* others = g.where(g.equal(k, i), g.number(1, x), g.unsqueeze(x, g.ints({a})));
  Value* products =
      g.cumprod(others, g.constant(Tensor::scalar<std::int64_t>(a + 1)), c.node().attrs());
  Value* parts = g.masked(counts(g, c, k, i), g.mul(products, g.unsqueeze(dys[0], g.ints({a}))));
  return {g.reduce_sum(parts, g.ints({a + 1}), Attrs{{"keepdims", false}}), nullptr};
}

}  // namespace

OpPage cumprod() {
  OpPage p = scan_page(
      "cumprod",
      "products up to each element along `axis`: from the end with `reverse`, without the "
      "element itself with `exclusive`");
  p.eval = eval;
  p.gradient = gradient;
  p.samples.push_back(sample({{4}, {}})
                          .given(0, Tensor::vector<float>({2, 0, 3, 0}))
                          .known(1, Tensor::scalar<std::int64_t>(0)));
  return p;
}

}  // namespace tenon::ops
