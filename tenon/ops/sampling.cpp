// Coordinates, borders and filter weights of grid_sample. Source of the meaning: ONNX GridSample
// (opset 22); cubic filter: Keys 1981, equation 4 with a = -3/4.
#include "tenon/ops/sampling.h"

#include <algorithm>
#include <cmath>

namespace tenon::ops {
namespace {

struct Placed {
  double at, slope;
};  // a coordinate, and its derivative with respect to the one before

// Mirrored at `low` and `high` until inside.
Placed reflect(double x, double low, double high) {
  const double width = high - low;
  if (width <= 0) return {low, 0};
  if (x >= low && x <= high) return {x, 1};
  const double beyond = x < low ? low - x : x - high;
  const double turns = std::floor(beyond / width), rest = beyond - turns * width;
  const bool from_low = (x < low) == (std::fmod(turns, 2) == 0);
  return from_low ? Placed{low + rest, x < low ? -1.0 : 1.0}
                  : Placed{high - rest, x < low ? 1.0 : -1.0};
}

// The n-th derivative of p[0] + p[1] f + p[2] f^2 + p[3] f^3.
double polynomial(const double (&p)[4], double f, std::int64_t n) {
  double sum = 0;
  for (int k = 3; k >= n; --k) {
    double factor = 1;
    for (std::int64_t j = 0; j < n; ++j) factor *= static_cast<double>(k - j);
    sum += p[k] * factor * std::pow(f, static_cast<double>(k - n));
  }
  return sum;
}

constexpr double kA = -0.75;
constexpr double kLinear[2][4] = {{1, -1, 0, 0}, {0, 1, 0, 0}};
constexpr double kCubic[4][4] = {{0, kA, -2 * kA, kA},
                                 {1, 0, -(kA + 3), kA + 2},
                                 {0, -kA, 2 * kA + 3, -(kA + 2)},
                                 {0, 0, kA, -kA}};

}  // namespace

PointSampler::PointSampler(const Call& c, Dims spatial)
    : spatial_(std::move(spatial)),
      strides_(row_major_strides(spatial_)),
      nearest_(c.text("mode") == "nearest"),
      cubic_(c.text("mode") == "cubic"),
      zeros_(c.text("padding_mode") == "zeros"),
      border_(c.text("padding_mode") == "border"),
      align_(c.flag("align_corners")) {
  order_.assign(spatial_.size(), 0);
  if (!c.has_attr("order")) return;
  const auto& by_coordinate = c.integers("order");
  for (std::size_t k = 0; k < order_.size(); ++k) order_[order_.size() - 1 - k] = by_coordinate[k];
}

int PointSampler::axis_taps(std::size_t axis, double coordinate, AxisTap* out) const {
  const std::int64_t size = spatial_[axis], order = order_[axis];
  const double n = static_cast<double>(size), low = align_ ? 0 : -0.5,
               high = align_ ? n - 1 : n - 0.5;
  double x = align_ ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2,
         slope = align_ ? (n - 1) / 2 : n / 2;
  if (!(std::fabs(x) < 1e15)) x = zeros_ ? -1e15 : 0;  // infinities and NaN have no neighbours
  if (nearest_) x = std::nearbyint(x);
  if (!zeros_ && (x < low || x > high)) {
    const Placed p = border_ ? Placed{std::clamp(x, 0.0, n - 1), 0} : reflect(x, low, high);
    x = p.at;
    slope *= p.slope;
  }
  const auto place = [&](std::int64_t i) -> std::int64_t {
    if (i >= 0 && i < size) return i;
    if (zeros_) return -1;
    return border_ ? std::clamp<std::int64_t>(i, 0, size - 1)
                   : static_cast<std::int64_t>(reflect(static_cast<double>(i), low, high).at);
  };
  if (nearest_) {
    out[0] = {place(static_cast<std::int64_t>(x)), order == 0 ? 1.0 : 0.0};
    return 1;
  }
  const double floor = std::floor(x), rest = x - floor,
               chain = std::pow(slope, static_cast<double>(order));
  const int taps = cubic_ ? 4 : 2;
  for (int k = 0; k < taps; ++k)
    out[k] = {place(static_cast<std::int64_t>(floor) + k - (cubic_ ? 1 : 0)),
              polynomial(cubic_ ? kCubic[k] : kLinear[k], rest, order) * chain};
  return taps;
}

void PointSampler::read(const double* point, std::vector<Tap>& taps) const {
  taps.assign(1, {0, 1});
  std::vector<Tap> wider;
  for (std::size_t a = 0; a < spatial_.size(); ++a) {
    AxisTap along[4];
    const int n = axis_taps(a, point[spatial_.size() - 1 - a], along);
    wider.clear();
    for (const Tap& t : taps)
      for (int k = 0; k < n; ++k)
        if (along[k].index >= 0 && along[k].weight != 0)
          wider.push_back({t.offset + along[k].index * strides_[a], t.weight * along[k].weight});
    taps.swap(wider);
  }
}

std::vector<AttrSpec> sampling_attrs() {
  return {{"mode", "linear"},
          {"padding_mode", "zeros"},
          {"align_corners", false},
          AttrSpec::optional("order", Attr::Kind::integers)};
}

Status check_sampling(const Call& c, int num_axes) {
  const std::string &mode = c.text("mode"), &padding = c.text("padding_mode");
  TENON_EXPECT(mode == "linear" || mode == "nearest" || mode == "cubic",
               "mode is linear, nearest or cubic");
  TENON_EXPECT(padding == "zeros" || padding == "border" || padding == "reflection",
               "padding_mode is zeros, border or reflection");
  if (!c.has_attr("order")) return {};
  const auto& order = c.integers("order");
  TENON_EXPECT(num_axes < 0 || static_cast<int>(order.size()) == num_axes,
               "order has one number for each coordinate");
  for (std::int64_t n : order) TENON_EXPECT(n >= 0, "order >= 0");
  return {};
}

Status check_grid(const Call& c, const Type& x, const Type& grid) {
  TENON_TRY(check_sampling(c, x.ranked() ? x.ndim() - 2 : -1));
  if (!x.ranked() || !grid.ranked()) return {};
  TENON_EXPECT(x.ndim() >= 3 && grid.ndim() == x.ndim(), "x.ndim >= 3 and grid.ndim == x.ndim", x,
               grid);
  TENON_EXPECT_SAME(x.dim(0), grid.dim(0), "x.batch == grid.batch");
  TENON_EXPECT_SAME(grid.dim(-1), Dim(x.ndim() - 2), "grid.last == number of spatial axes");
  return {};
}

Value* grid_gradient(B g, const Call& c, Value* x, Value* grid, Value* dy) {
  if (c.text("mode") == "nearest") return nullptr;  // piecewise constant
  const int axes = grid->type().ndim() - 2;
  Values parts;
  for (int k = 0; k < axes; ++k) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(axes), 0);
    if (c.has_attr("order")) order = c.integers("order");
    ++order[static_cast<std::size_t>(k)];
    Attrs attrs = c.node().attrs();
    attrs.set("order", order);
    Value* slope = g.mul(dy, g.grid_sample(x, grid, attrs));
    parts.push_back(
        g.unsqueeze(g.reduce_sum(slope, g.ints({1}), Attrs{{"keepdims", false}}), g.ints({-1})));
  }
  Value* joined = g.concat(parts, Attrs{{"axis", -1}});
  return g.cast_to(joined, grid->type().dtype());
}

}  // namespace tenon::ops
