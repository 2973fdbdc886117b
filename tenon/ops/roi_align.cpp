// roi_align(x, rois, batch_indices): a grid of bilinear samples over each region, pooled by cells.
#include <algorithm>

#include "tenon/ops/roi_sampling.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &rois = c.in(1), &batch = c.in(2);
  if (c.text("mode") != "avg" && c.text("mode") != "max")
    return invalid("mode is avg or max but '{}' is given", c.text("mode"));
  const std::string& transform = c.text("coordinate_transformation_mode");
  if (transform != "half_pixel" && transform != "output_half_pixel")
    return invalid(
        "coordinate_transformation_mode is half_pixel or output_half_pixel but '{}' is given",
        transform);
  if (!x.ranked() || !rois.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() == 4 && rois.ndim() == 2, "x is [n, c, h, w] and rois is [r, 4]", x, rois);
  TENON_EXPECT_SAME(rois.dim(1), Dim(4), "rois.cols == 4");
  if (batch.ranked())
    TENON_EXPECT_SAME(rois.dim(0), batch.dim(0), "rois.rows == batch_indices.size");
  return Types{x.with_shape(
      {rois.dim(0), x.dim(1), Dim(c.integer("output_height")), Dim(c.integer("output_width"))})};
}

// One sample position along one axis: two neighbours and their weights; none outside of [-1, size].
struct Tap {
  std::int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;
};

Tap tap_at(double position, std::int64_t size) {
  if (position < -1 || position > static_cast<double>(size)) return {};
  const double p = std::min(std::max(position, 0.0), static_cast<double>(size - 1));
  const auto low = static_cast<std::int64_t>(p), high = std::min(low + 1, size - 1);
  return {low, high, 1 - (p - static_cast<double>(low)), p - static_cast<double>(low)};
}

// All taps of one region along one axis, cell by cell.
std::vector<Tap> taps_of(const Call& c, double from, double to, std::int64_t cells,
                         std::int64_t size, std::int64_t& per_cell) {
  const bool half = c.text("coordinate_transformation_mode") == "half_pixel";
  const double scale = c.real("spatial_scale"), start = from * scale - (half ? 0.5 : 0),
               end = to * scale - (half ? 0.5 : 0);
  const double length = half ? end - start : std::max(end - start, 1.0),
               cell = length / static_cast<double>(cells);
  per_cell = c.integer("sampling_ratio") > 0
                 ? c.integer("sampling_ratio")
                 : std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(cell)));
  std::vector<Tap> taps;
  for (std::int64_t i = 0; i < cells; ++i)
    for (std::int64_t k = 0; k < per_cell; ++k)
      taps.push_back(
          tap_at(start + static_cast<double>(i) * cell +
                     (static_cast<double>(k) + 0.5) * cell / static_cast<double>(per_cell),
                 size));
  return taps;
}

// One cell of one plane.
double pooled(const double* x, std::int64_t width, std::span<const Tap> rows,
              std::span<const Tap> cols, bool take_max) {
  double sum = 0, best = 0;
  bool first = true;
  for (const Tap& r : rows)
    for (const Tap& k : cols) {
      const double a = r.low_weight * k.low_weight * x[r.low * width + k.low],
                   b = r.low_weight * k.high_weight * x[r.low * width + k.high];
      const double d = r.high_weight * k.low_weight * x[r.high * width + k.low],
                   e = r.high_weight * k.high_weight * x[r.high * width + k.high];
      sum += a + b + d + e;
      const double top = std::max({a, b, d, e});
      best = first ? top : std::max(best, top);
      first = false;
    }
  return take_max ? best
                  : sum / static_cast<double>(std::max<std::size_t>(1, rows.size() * cols.size()));
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const std::int64_t rows = e.call.integer("output_height"), cols = e.call.integer("output_width"),
                     channels = x.dim(1), plane = x.dim(2) * x.dim(3);
  const auto values = to_doubles(x), rois = to_doubles(e.in(1));
  const auto batch = integers(e.in(2));
  std::vector<double> y;
  for (std::int64_t r = 0; r < e.in(1).dim(0); ++r) {
    const std::int64_t picture = batch[static_cast<std::size_t>(r)];
    if (picture < 0 || picture >= x.dim(0))
      return invalid("roi_align: region {} is of picture {} but there are {}", r, picture,
                     x.dim(0));
    const double* roi = rois.data() + r * 4;
    std::int64_t high = 0, wide_count = 0;
    const auto vertical = taps_of(e.call, roi[1], roi[3], rows, x.dim(2), high),
               horizontal = taps_of(e.call, roi[0], roi[2], cols, x.dim(3), wide_count);
    for (std::int64_t k = 0; k < channels; ++k)
      for (std::int64_t cell = 0; cell < rows * cols; ++cell)
        y.push_back(pooled(values.data() + (picture * channels + k) * plane, x.dim(3),
                           std::span(vertical).subspan(static_cast<std::size_t>(cell / cols * high),
                                                       static_cast<std::size_t>(high)),
                           std::span(horizontal)
                               .subspan(static_cast<std::size_t>(cell % cols * wide_count),
                                        static_cast<std::size_t>(wide_count)),
                           e.call.text("mode") == "max"));
  }
  return Datums{Datum(narrow(y, x.dtype(), {e.in(1).dim(0), channels, rows, cols}))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

// Four products and sums for each sample; an adaptive grid counts as 2 x 2.
Cost cost(const Call& c) {
  const std::int64_t n = c.integer("sampling_ratio") > 0 ? c.integer("sampling_ratio") : 2;
  return {c.out(0).count() * Dim(8 * n * n), c.bytes_in(), c.bytes_out()};
}

}  // namespace

OpPage roi_align() {
  const auto rois =
      Tensor::of<float>({2, 4}, std::vector<float>{0.3f, 0.9f, 3.4f, 4.2f, 1.2f, 0.7f, 8.3f, 3.1f});
  const auto batch = Tensor::vector<std::int64_t>({1, 0});
  const Attrs grid = {{"output_height", 2}, {"output_width", 2}, {"sampling_ratio", 2}};
  return {
      .name = "roi_align",
      .doc =
          "mean (or, over weighted neighbours, maximum) of bilinear samples in each cell of an "
          "output_height x output_width grid over every region [x1, y1, x2, y2]; "
          "sampling_ratio samples each way, or as many as a cell has pixels. half_pixel shifts "
          "regions by half a pixel",
      .inputs = {{"x", kFloat}, {"rois", kFloat}, {"batch_indices", kIndex, "I"}},
      .attrs = {{"coordinate_transformation_mode", "half_pixel"},
                {"mode", "avg"},
                {"output_height", 1},
                {"output_width", 1},
                {"sampling_ratio", 0},
                {"spatial_scale", 1.0}},
      .infer = infer,
      .eval = eval,
      .decompose = roi_align_by_gathers,
      .gradient = gradient,
      .cost = cost,
      .sharding = factors("_ c _ _, r _, r -> r c _ _"),
      .samples = {sample({{2, 4, 6, 5}, {2, 4}, {2}}).given(1, rois).given(2, batch).with(grid),
                  sample({{2, 4, 6, 5}, {2, 4}, {2}})
                      .given(1, rois)
                      .given(2, batch)
                      .with({{"output_height", 1}, {"output_width", 2}, {"spatial_scale", 0.5}}),
                  sample({{2, 2, 6, 5}, {2, 4}, {2}})
                      .given(1, rois)
                      .given(2, batch)
                      .distinct()
                      .with({{"mode", "max"},
                             {"sampling_ratio", 2},
                             {"output_width", 2},
                             {"coordinate_transformation_mode", "output_half_pixel"}}),
                  rejects({{2, 4, 6, 5}, {2, 5}, {2}}, "rois.cols is 5").given(2, batch),
                  rejects({{2, 4, 6, 5}, {3, 4}, {2}}, "rois.rows is 3").given(2, batch),
                  rejects({{2, 4, 6, 5}, {2, 4}, {2}}, "mode is avg or max")
                      .given(2, batch)
                      .with({{"mode", "min"}})}};
}

}  // namespace tenon::ops
