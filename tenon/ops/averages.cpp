// Divisors of average pooling.
#include "tenon/ops/averages.h"

namespace tenon::ops {
namespace {

// Taps of output y along one axis that lie in [-before, x + after).
std::int64_t taps_inside(const WindowAxis& a, std::int64_t y, std::int64_t before,
                         std::int64_t after) {
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < a.kernel; ++k)
    n += a.at(y, k) >= -before && a.at(y, k) < a.x + after;
  return n;
}

}  // namespace

std::vector<AttrSpec> average_attrs() {
  auto attrs = pool_attrs();
  attrs.emplace_back("count_include_pad", false);
  attrs.emplace_back("divisor", 0);
  return attrs;
}

std::vector<double> window_scales(const Call& c, const Window& w) {
  const std::int64_t fixed = c.integer("divisor");
  const bool pads = c.flag("count_include_pad");
  std::vector<double> scales(static_cast<std::size_t>(y_plane(w)),
                             fixed ? 1.0 / static_cast<double>(fixed) : 0.0);
  if (fixed) return scales;
  const auto count = [&](int axis, std::int64_t y) {
    const WindowAxis& a = w[static_cast<std::size_t>(axis)];
    return taps_inside(a, y, pads ? a.begin : 0, pads ? a.end : 0);
  };
  for_each_output(w, [&](std::int64_t y0, std::int64_t y1, std::int64_t y2, std::int64_t k) {
    const std::int64_t n = count(0, y0) * count(1, y1) * count(2, y2);
    if (n > 0) scales[static_cast<std::size_t>(k)] = 1.0 / static_cast<double>(n);
  });
  return scales;
}

}  // namespace tenon::ops
