// unique(x; axis, sorted): the different elements, or slices, of x.
#include <algorithm>
#include <numeric>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  const Dim n = c.fresh_dim("count");
  Type y(x.dtype(), {n});
  Dim whole = c.fresh_dim("size");
  if (c.has_attr("axis")) {
    if (!x.ranked())
      y = Type::unranked(x.dtype());
    else {
      const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
      y = x.with_dim(axis, n);
      whole = x.dim(axis);
    }
  } else if (x.ranked()) {
    whole = x.count();
  }
  return Types{y, Type(DType::i64, {n}), Type(DType::i64, {whole}), Type(DType::i64, {n})};
}

struct Groups {
  std::vector<std::int64_t> first, group_of, counts;
};

// Total order in which NaN is equal to itself and behind everything.
template <class T>
int compare(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    if (a != a || b != b) return (a != a) - (b != b);
  return a < b ? -1 : b < a ? 1 : 0;
}

template <class T>
Groups group(const std::vector<T>& rows, std::int64_t n, std::int64_t width, bool sorted) {
  const auto order_of = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t k = 0; k < width; ++k)
      if (const int o = compare<T>(rows[static_cast<std::size_t>(a * width + k)],
                                   rows[static_cast<std::size_t>(b * width + k)]))
        return o;
    return 0;
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return order_of(a, b) < 0; });
  Groups g;
  g.group_of.resize(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || order_of(order[i - 1], order[i]) != 0) {
      g.first.push_back(order[i]);
      g.counts.push_back(0);
    }
    ++g.counts.back();
    g.group_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(g.first.size()) - 1;
  }
  if (sorted) return g;
  std::vector<std::int64_t> by_first(g.first.size()), rank(g.first.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::sort(by_first.begin(), by_first.end(), [&](std::int64_t a, std::int64_t b) {
    return g.first[static_cast<std::size_t>(a)] < g.first[static_cast<std::size_t>(b)];
  });
  Groups out;
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    const auto old = static_cast<std::size_t>(by_first[i]);
    rank[old] = static_cast<std::int64_t>(i);
    out.first.push_back(g.first[old]);
    out.counts.push_back(g.counts[old]);
  }
  for (std::int64_t of : g.group_of) out.group_of.push_back(rank[static_cast<std::size_t>(of)]);
  return out;
}

Groups group_rows(const Tensor& rows, std::int64_t n, std::int64_t width, bool sorted) {
  if (rows.dtype() == DType::string)
    return group(
        std::vector<std::string>(rows.data<std::string>().begin(), rows.data<std::string>().end()),
        n, width, sorted);
  if (is_floating(rows.dtype())) return group(to_doubles(rows), n, width, sorted);
  const auto v = to_int64s(rows);
  if (rows.dtype() == DType::u64)
    return group(std::vector<std::uint64_t>(v.begin(), v.end()), n, width, sorted);
  return group(v, n, width, sorted);
}

Result<Datums> eval(const EvalCall& e) {
  const bool flat = !e.call.has_attr("axis");
  const Tensor x = flat ? e.in(0).reshaped({e.in(0).count()}) : e.in(0);
  const auto axis =
      static_cast<std::size_t>(flat ? 0 : TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim())));
  Dims dims = x.dims(), strides = row_major_strides(dims);
  const std::int64_t n = dims[axis], step = strides[axis];
  Dims rest = dims, rest_strides = strides;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  rest_strides.erase(rest_strides.begin() + static_cast<std::ptrdiff_t>(axis));
  rest.insert(rest.begin(), n);
  rest_strides.insert(rest_strides.begin(), step);
  const Groups g = group_rows(copy_strided(x, rest, rest_strides), n, n == 0 ? 0 : x.count() / n,
                              e.call.flag("sorted"));
  dims[axis] = static_cast<std::int64_t>(g.first.size());
  const Tensor y = copy_elements(x, dims, [&](const Dims& at, std::int64_t) {
    return offset_of(at, strides) + (g.first[static_cast<std::size_t>(at[axis])] - at[axis]) * step;
  });
  return Datums{Datum(y), Datum(Tensor::vector(g.first)), Datum(Tensor::vector(g.group_of)),
                Datum(Tensor::vector(g.counts))};
}

// y = x at the first positions: its adjoint adds dy there.
Values gradient(B g, const Call& c, const Values& dys) {
  if (!dys[0]) return {nullptr};
  if (c.has_attr("axis"))
    return {g.gather_adjoint(dys[0], c.result(1), g.shape(c.value(0)),
                             Attrs{{"axis", c.integer("axis")}})};
  return {g.reshape_like(
      g.gather_adjoint(dys[0], c.result(1), g.reshape(g.size(c.value(0)), g.ints({1}))),
      c.value(0))};
}

// n log n comparisons, log n taken as 20
Cost cost(const Call& c) { return {c.in(0).count() * Dim(20), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage unique() {
  const auto row = [](std::vector<float> v) { return Tensor::vector(v); };
  return {
      .name = "unique",
      .doc =
          "the different elements of the flattened x, or slices along `axis`, ascending or in "
          "order of first appearance; with the position of each one's first appearance, for each "
          "of "
          "x's the number of its equal in y, and how often each appears",
      .inputs = {{"x", kNumeric | kBool | kString}},
      .outputs = {"y", "first", "inverse", "counts"},
      .attrs = {AttrSpec::optional("axis", Attr::Kind::integer), {"sorted", true}},
      .traits = {Trait::data_dependent},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: the number of results depends on the data"),
      .gradient = gradient,
      .cost = cost,
      .sharding =
          none("equal elements may lie on different peers, and their number depends on the data"),
      .samples = {
          sample({{6}}).all(DType::i32).range(0, 3),
          sample({{6}}).all(DType::i64).range(0, 3).with({{"sorted", false}}),
          sample({{2, 3}}).distinct(),
          sample({{4, 2}}).all(DType::u8).range(0, 1).with({{"axis", 0}}),
          sample({{2, 4, 2}}).all(DType::i32).range(0, 1).with({{"axis", 1}, {"sorted", false}}),
          sample({{5}}).all(DType::string), sample({{3, 4}}).distinct().with({{"axis", -1}}),
          sample({{4}})
              .given(0, row({2, 0.5, 2, 1}))
              .without_gradient("moving one of two equal elements splits them"),
          sample({{0}}), rejects({{2}}, "axis 1 is outside").with({{"axis", 1}})}};
}

}  // namespace tenon::ops
