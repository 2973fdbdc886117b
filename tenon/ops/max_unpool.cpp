// max_unpool(x, indices, output_shape): elements put back where max_pool found them, zeros
// elsewhere.
#include "tenon/ops/statistics.h"
#include "tenon/ops/windows.h"

namespace tenon::ops {
namespace {

std::int64_t entry(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t fallback) {
  return list.empty() ? fallback : list[i];
}

struct Line {
  std::int64_t factor, offset;
};  // size = (x - 1) * factor + offset
Line line_of(const Call& c, std::size_t i) {
  const std::size_t n = c.integers("kernel").size();
  return {entry(c.integers("strides"), i, 1), c.integers("kernel")[i] -
                                                  entry(c.integers("pads"), i, 0) -
                                                  entry(c.integers("pads"), i + n, 0)};
}

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &indices = c.in(1);
  if (!x.ranked()) return Types{x};
  const auto n = static_cast<std::size_t>(std::max(0, x.ndim() - 2));
  TENON_EXPECT(n >= 1 && c.integers("kernel").size() == n,
               "x is [n, c, spatial...] and kernel has one size for each spatial axis", x);
  for (const char* key : {"strides", "pads"})
    if (const std::size_t have = c.integers(key).size();
        have != 0 && have != n * (key[0] == 'p' ? 2 : 1))
      return invalid("{} has {} entries for {} spatial axes", key, have, n);
  if (indices.ranked())
    for (int i = 0; i < x.ndim(); ++i)
      TENON_EXPECT_SAME(x.dim(i), indices.dim(i), "x.size == indices.size");
  if (c.has(2)) {
    if (auto wanted = c.dims(2)) return Types{x.with_shape(*wanted)};
    Shape unknown;
    for (int i = 0; i < x.ndim(); ++i) unknown.push_back(c.fresh_dim(fmt::format("d{}", i)));
    return Types{x.with_shape(unknown)};
  }
  Shape out = {x.dim(0), x.dim(1)};
  for (std::size_t i = 0; i < n; ++i) {
    const Line l = line_of(c, i);
    out.push_back((x.dim(static_cast<int>(i) + 2) - Dim(1)) * Dim(l.factor) + Dim(l.offset));
  }
  return Types{x.with_shape(out)};
}

// A scatter into a tensor of the sizes that kernel, strides and pads mean; a wanted shape then cuts
// it or adds zeros at the ends.
Values decompose(B g, const Call& c) {
  Value *x = c.value(0), *indices = c.value(1);
  std::vector<std::int64_t> factors, offsets;
  for (std::size_t i = 0; i < c.integers("kernel").size(); ++i) {
    factors.push_back(line_of(c, i).factor);
    offsets.push_back(line_of(c, i).offset);
  }
  Value* spatial_sizes =
      g.add(g.mul(g.sub(g.shape(x, Attrs{{"start", 2}}), g.number(1, DType::i64)), g.ints(factors)),
            g.ints(offsets));
  Value* sizes = g.concat(g.shape(x, Attrs{{"end", 2}}), spatial_sizes, Attrs{{"axis", 0}});
  Value *zeros = g.reshape(g.expand(g.number(0, x), sizes), g.ints({-1})), *all = g.ints({-1});
  Value* y =
      g.reshape(g.scatter_elements(zeros, g.reshape(indices, all), g.reshape(x, all)), sizes);
  if (!c.has(2)) return {y};
  std::vector<std::int64_t> none(static_cast<std::size_t>(c.in(0).ndim()), 0);
  Value* extra = g.sub(g.cast_to(c.value(2), DType::i64), sizes);
  return {g.pad(y, g.concat(g.ints(none), extra, Attrs{{"axis", 0}}))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

}  // namespace

OpPage max_unpool() {
  const auto at = [](Dims dims, std::vector<std::int64_t> v) {
    return Tensor::of<std::int64_t>(std::move(dims), v);
  };
  return {
      .name = "max_unpool",
      .doc =
          "zeros of size (x - 1) * stride + kernel - pads, with x written at `indices` (row-major "
          "positions in all of the result); a given shape cuts the "
          "result or adds zeros at the ends",
      .inputs = {{"x", kNumeric}, {"indices", kIndex, "I"}, maybe("output_shape", kIndex, "S")},
      .attrs = {AttrSpec::required("kernel", Attr::Kind::integers),
                {"strides", Attr::Integers{}},
                {"pads", Attr::Integers{}}},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = none("positions count through the whole tensor"),
      .samples = {sample({{1, 1, 2, 2}, {1, 1, 2, 2}})
                      .given(1, at({1, 1, 2, 2}, {5, 7, 13, 15}))
                      .with({{"kernel", Attr::Integers{2, 2}}, {"strides", Attr::Integers{2, 2}}}),
                  sample({{1, 1, 2, 2}, {1, 1, 2, 2}, {4}})
                      .given(1, at({1, 1, 2, 2}, {5, 7, 13, 15}))
                      .known(2, Tensor::vector<std::int64_t>({1, 1, 5, 5}))
                      .with({{"kernel", Attr::Integers{2, 2}}, {"strides", Attr::Integers{2, 2}}}),
                  sample({{1, 2, 2}, {1, 2, 2}})
                      .given(1, at({1, 2, 2}, {0, 2, 3, 5}))
                      .with({{"kernel", Attr::Integers{3}},
                             {"strides", Attr::Integers{2}},
                             {"pads", Attr::Integers{1, 1}}}),
                  rejects({{1, 1, 2}, {1, 1, 3}}, "x.size is 2 but indices.size is 3")
                      .dtypes({DType::f32, DType::i64})
                      .with({{"kernel", Attr::Integers{2}}}),
                  rejects({{1, 1, 2}, {1, 1, 2}}, "kernel has one size")
                      .dtypes({DType::f32, DType::i64})
                      .with({{"kernel", Attr::Integers{2, 2}}})}};
}

}  // namespace tenon::ops
