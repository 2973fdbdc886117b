// max_roi_pool(x, rois; pooled_shape, spatial_scale): the largest elements of a grid of cells over
// each region.
#include <algorithm>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// rois are [batch index, x1, y1, x2, y2]. Positions in x are a second output for those who ask.
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &rois = c.in(1);
  if (c.integers("pooled_shape").size() != 2)
    return invalid("pooled_shape has 2 sizes but {} are given", c.integers("pooled_shape").size());
  if (!x.ranked() || !rois.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() == 4 && rois.ndim() == 2, "x is [n, c, h, w] and rois is [r, 5]", x, rois);
  TENON_EXPECT_SAME(rois.dim(1), Dim(5), "rois.cols == 5");
  const Type y = x.with_shape({rois.dim(0), x.dim(1), Dim(c.integers("pooled_shape")[0]),
                               Dim(c.integers("pooled_shape")[1])});
  return c.num_outputs() > 1 ? Types{y, y.with_dtype(DType::i64)} : Types{y};
}

struct Span {
  std::int64_t from, to;
};

// Cell i of `cells` over rounded positions [start, end] of one axis; both bounds belong to the
// region.
Span cell_of(std::int64_t i, std::int64_t cells, double start, double end, std::int64_t size) {
  const double length = std::max(end - start + 1, 1.0) / static_cast<double>(cells);
  const auto clamp = [&](double v) {
    return std::min(size, std::max<std::int64_t>(0, static_cast<std::int64_t>(v)));
  };
  return {clamp(std::floor(static_cast<double>(i) * length) + start),
          clamp(std::ceil(static_cast<double>(i + 1) * length) + start)};
}

// Position of the largest element of a cell in its plane, -1 when the cell is empty.
std::int64_t largest(const double* plane, std::int64_t width, Span rows, Span cols) {
  std::int64_t best = -1;
  for (std::int64_t h = rows.from; h < rows.to; ++h)
    for (std::int64_t w = cols.from; w < cols.to; ++w)
      if (best < 0 || plane[h * width + w] > plane[best]) best = h * width + w;
  return best;
}

struct Pooled {
  std::vector<double> y;
  std::vector<std::int64_t> indices;
};

Result<Pooled> pool(const EvalCall& e, std::int64_t rows, std::int64_t cols) {
  const Tensor& x = e.in(0);
  const auto values = to_doubles(x), rois = to_doubles(e.in(1));
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const double scale = e.call.real("spatial_scale");
  Pooled out;
  for (std::int64_t r = 0; r < e.in(1).dim(0); ++r) {
    const double* roi = rois.data() + r * 5;
    const auto batch = std::llround(roi[0]);
    if (batch < 0 || batch >= x.dim(0))
      return invalid("max_roi_pool: region {} is of picture {} but there are {}", r, batch,
                     x.dim(0));
    double at[4];
    for (int i = 0; i < 4; ++i) at[i] = std::round(roi[i + 1] * scale);
    for (std::int64_t k = 0; k < channels; ++k)
      for (std::int64_t cell = 0; cell < rows * cols; ++cell) {
        const std::int64_t plane = (batch * channels + k) * height * width;
        const std::int64_t best =
            largest(values.data() + plane, width, cell_of(cell / cols, rows, at[1], at[3], height),
                    cell_of(cell % cols, cols, at[0], at[2], width));
        out.y.push_back(best < 0 ? 0 : values[static_cast<std::size_t>(plane + best)]);
        out.indices.push_back(best < 0 ? -1 : plane + best);
      }
  }
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const auto& shape = e.call.integers("pooled_shape");
  const Pooled found = TENON_TRY(pool(e, shape[0], shape[1]));
  const Dims dims = {e.in(1).dim(0), e.in(0).dim(1), shape[0], shape[1]};
  Datums out = {Datum(narrow(found.y, e.in(0).dtype(), dims))};
  if (e.call.num_outputs() > 1) out.emplace_back(from_int64s(found.indices, DType::i64, dims));
  return out;
}

// dy goes to where the largest elements stood. Regions are rounded: in them y is piecewise
// constant.
Values gradient(B g, const Call& c, const Values& dys) {
  Value *x = c.value(0), *all = g.ints({-1});
  Value* indices = c.num_outputs() > 1
                       ? c.result(1)
                       : g.all_of("max_roi_pool", {x, c.value(1)}, c.node().attrs(), 2)[1];
  Value *zero = g.number(0, indices), *dy = g.masked(g.less_equal(zero, indices), dys[0]);
  Value* total = g.shape(g.reshape(x, all));
  return {g.reshape_like(
              g.gather_adjoint(g.reshape(dy, all), g.reshape(g.max(indices, zero), all), total), x),
          nullptr};
}

Cost cost(const Call& c) {
  return {c.in(0).count() + c.out(0).count(), c.bytes_in(), c.bytes_out()};
}

// Positions count through the whole of x.
Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs = {{"", "c", "", ""}, {"r", ""}};
  f.outputs = {{"r", "c", "", ""}, {"r", "c", "", ""}};
  f.outputs.resize(static_cast<std::size_t>(c.num_outputs()));
  if (c.num_outputs() > 1) f.whole_factors = {"c"};
  return f;
}

}  // namespace

OpPage max_roi_pool() {
  const auto rois = [](std::vector<float> v) {
    return Tensor::of<float>({static_cast<std::int64_t>(v.size()) / 5, 5}, v);
  };
  return {
      .name = "max_roi_pool",
      .doc =
          "largest element of each cell of a `pooled_shape` grid over every region [batch index, "
          "x1, y1, x2, y2], corners scaled and rounded; an empty cell gives 0",
      .inputs = {{"x", kFloat}, {"rois", kFloat}},
      .outputs = {"y", "indices"},
      .attrs = {AttrSpec::required("pooled_shape", Attr::Kind::integers), {"spatial_scale", 1.0}},
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {sample({{2, 4, 6, 5}, {2, 5}})
                      .distinct()
                      .given(1, rois({1, 0, 1, 3, 4, 0, 2, 2, 9, 9}))
                      .with({{"pooled_shape", Attr::Integers{2, 2}}}),
                  sample({{1, 2, 6, 5}, {1, 5}})
                      .distinct()
                      .given(1, rois({0, 2.4f, 1.4f, 8.2f, 7.2f}))
                      .outputs(2)
                      .with({{"pooled_shape", Attr::Integers{3, 2}}, {"spatial_scale", 0.5}}),
                  rejects({{1, 2, 6, 5}, {1, 4}}, "rois.cols is 4 but 5 is 5")
                      .with({{"pooled_shape", Attr::Integers{2, 2}}}),
                  rejects({{1, 2, 6, 5}, {1, 5}}, "pooled_shape has 2 sizes")
                      .with({{"pooled_shape", Attr::Integers{2}}})}};
}

}  // namespace tenon::ops
