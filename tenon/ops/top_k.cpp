// top_k(x, k; axis, largest, sorted): the k largest or smallest elements along an axis.
#include <algorithm>
#include <numeric>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(x.dtype()), Type::unranked(DType::i64)};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  auto k = c.dims(1);
  if (k) {
    TENON_EXPECT(k->size() == 1, "k is one number", c.in(1));
    TENON_EXPECT(at_least((*k)[0], 0) != Truth::no && at_least(x.dim(axis), (*k)[0]) != Truth::no,
                 "0 <= k <= x.dim", x);
  }
  const Type y = x.with_dim(axis, k ? (*k)[0] : c.fresh_dim("k"));
  return Types{y, y.with_dtype(DType::i64)};
}

// Positions of one line's elements, best first; of equal ones the earlier, and NaN before all
// numbers.
template <class W>
void order_line(const W* line, std::int64_t step, std::vector<std::int64_t>& order, std::int64_t k,
                bool largest) {
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const W x = line[a * step], y = line[b * step];
    if (x != x || y != y) return (x != x) != (y != y) ? x != x : a < b;
    if (x == y) return a < b;
    return largest ? y < x : x < y;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), better);
}

template <class W>
Datums best(const Tensor& x, const std::vector<W>& values, int axis, std::int64_t k, bool largest) {
  Dims dims = x.dims();
  const std::int64_t size = dims[static_cast<std::size_t>(axis)],
                     inner = num_elements(Dims(dims.begin() + axis + 1, dims.end()));
  dims[static_cast<std::size_t>(axis)] = k;
  Tensor y(x.dtype(), dims), indices(DType::i64, dims);
  auto at = indices.data<std::int64_t>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  const std::int64_t outer = y.count() == 0 ? 0 : y.count() / (k * inner);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t start = o * size * inner + i;
      order_line(values.data() + start, inner, order, k, largest);
      for (std::int64_t r = 0; r < k; ++r) {
        const std::int64_t to = (o * k + r) * inner + i;
        at[static_cast<std::size_t>(to)] = order[static_cast<std::size_t>(r)];
        copy_run(x, start + order[static_cast<std::size_t>(r)] * inner, y, to, 1);
      }
    }
  return {Datum(y), Datum(indices)};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim()));
  const std::int64_t k = integer_element(e.in(1), 0);
  if (k < 0 || k > x.dim(axis))
    return invalid("top_k: k is {} but the axis has {} elements", k, x.dim(axis));
  const bool largest = e.call.flag("largest");
  if (is_floating(x.dtype())) return best(x, to_doubles(x), axis, k, largest);
  const auto v = to_int64s(x);
  if (x.dtype() == DType::u64)
    return best(x, std::vector<std::uint64_t>(v.begin(), v.end()), axis, k, largest);
  return best(x, v, axis, k, largest);
}

// dy goes to where the values came from.
Values gradient(B g, const Call& c, const Values& dys) {
  if (!dys[0]) return {nullptr};
  return {g.scatter_elements(g.zeros_like(c.value(0)), c.result(1), dys[0],
                             Attrs{{"axis", c.integer("axis")}, {"reduction", "add"}}),
          nullptr};
}

// One pass with a heap of k elements, its depth taken as 5
Cost cost(const Call& c) { return {c.in(0).count() * Dim(5), c.bytes_in(), c.bytes_out()}; }
Result<Factors> sharding(const Call& c) {
  return axes_through(c, {TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()))});
}

}  // namespace

OpPage top_k() {
  const auto row = [](std::vector<float> v) { return Tensor::vector(v); };
  return {
      .name = "top_k",
      .doc =
          "the k largest (or smallest) elements along `axis`, best first, and their positions; of "
          "equal elements the earlier one wins, NaN comes before all numbers; without `sorted` any "
          "order is right and this one is given",
      .inputs = {{"x", kNumeric}, {"k", kIndex, "K"}},
      .outputs = {"values", "indices"},
      .attrs = {{"axis", -1}, {"largest", true}, {"sorted", true}},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: no other operator sorts"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {sample({{4, 6}, {1}}).known(1, i64s({3})).distinct(),
                  sample({{5, 4}, {1}})
                      .given(1, i64s({2}))
                      .distinct()
                      .with({{"axis", 0}, {"largest", false}}),
                  sample({{5}, {1}})
                      .given(0, row({1, 3, 3, 1, 2}))
                      .known(1, i64s({3}))
                      .without_gradient("a tie"),
                  sample({{2, 3}, {1}}).known(1, i64s({0})),
                  sample({{4}, {1}}).all(DType::i32).range(-9, 9).known(1, i64s({2})),
                  rejects({{2, 3}, {1}}, "0 <= k <= x.dim").known(1, i64s({4}))}};
}

}  // namespace tenon::ops
