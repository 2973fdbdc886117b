// trilu(x, k; upper): the upper or lower triangle of matrices.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  TENON_EXPECT(!x.ranked() || x.ndim() >= 2, "x.ndim >= 2", x);
  if (c.has(1) && c.in(1).ranked())
    TENON_EXPECT(c.in(1).count().known().value_or(1) == 1, "k is one number", c.in(1));
  return Types{x};
}

// y[..., i, j] = x[..., i, j] where j - i >= k (upper) or j - i <= k (lower), else 0
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const std::int64_t k = e.has(1) ? integer_element(e.in(1), 0) : 0, rows = x.dim(-2),
                     columns = x.dim(-1);
  const bool upper = e.call.flag("upper");
  Tensor y = Tensor::zeros(x.dtype(), x.dims());
  const std::int64_t count = rows * columns == 0 ? 0 : x.count() / columns;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t edge = r % rows + k;  // first column kept, or the last one
    const std::int64_t begin = upper ? std::min(std::max<std::int64_t>(edge, 0), columns) : 0;
    const std::int64_t end =
        upper ? columns : std::min(std::max<std::int64_t>(edge + 1, 0), columns);
    copy_run(x, r * columns + begin, y, r * columns + begin, end - begin);
  }
  return Datums{Datum(y)};
}

Values decompose(B g, const Call& c) {
  Value* x = c.value(0);
  const int n = c.in(0).ndim();
  Value *row = iota_along(g, size_of_axis(g, x, n - 2), 0, 2),
        *column = iota_along(g, size_of_axis(g, x, n - 1), 1, 2);
  if (c.has(1)) row = g.add(row, g.reshape(g.cast_to(c.value(1), DType::i64), g.ints({})));
  Value *outside = c.flag("upper") ? g.less(column, row) : g.less(row, column),
        *zero = g.constant(Tensor::zeros(c.in(0).dtype(), {}));
  return {g.where(outside, zero, x)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  Values args = {dys[0]};
  if (c.has(1)) args.push_back(c.value(1));
  return {g.trilu(args, c.node().attrs()), nullptr};
}

Result<Factors> sharding(const Call& c) {
  return axes_through(c, {c.in(0).ndim() - 2, c.in(0).ndim() - 1});
}

}  // namespace

OpPage trilu() {
  const auto k = [](std::int64_t v) { return Tensor::scalar(v); };
  OpPage p = movement("trilu",
                      "the triangle of the last two axes with j - i >= k (upper) or j - i <= k "
                      "(lower), zeros elsewhere; k is 0 by default");
  p.inputs = {{"x", kNumeric | kBool | kComplex}, maybe("k", kIndex, "K")};
  p.attrs = {{"upper", true}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{3, 4}}),
               sample({{4, 3, 3}, {}}).given(1, k(1)),
               sample({{3, 4}, {}}).known(1, k(-1)).with({{"upper", false}}),
               sample({{2, 3}}).with({{"upper", false}}),
               sample({{2, 3}, {}}).given(1, k(-7)),
               sample({{2, 3}, {}}).given(1, k(7)),
               sample({{0, 3}}),
               rejects({{3}}, "x.ndim >= 2")};
  return p;
}

}  // namespace tenon::ops
