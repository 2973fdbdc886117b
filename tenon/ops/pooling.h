// Shared by the pooling pages: windows given by attributes over planes x[n, c].
#pragma once

#include "tenon/ops/windows.h"

namespace tenon::ops {

/// kernel (sizes of the window), ceil_mode, and the window attributes.
std::vector<AttrSpec> pool_attrs();
Attrs copied_pool_attrs(const Call& c, std::initializer_list<std::string_view> extra = {});
/// Spatial output sizes for x of `sizes`.
Result<Shape> pooled_sizes(const Call& c, const Shape& sizes);
/// [n, c, pooled...] for input 0.
Result<Type> infer_pool(const Call& c);
Result<Window> pool_window(const Call& c, const Dims& x_spatial);
/// Batch and channels go through for inputs of x's rank, everything else stays whole.
Result<Factors> sharding_planes(const Call& c);
/// One operation for each tap.
Cost cost_pool(const Call& c, const Dim& num_outputs);

/// The position of the largest element that a window covers, -1 when it covers none. The first one
/// wins a tie, and a NaN wins over numbers.
template <class W>
std::int64_t largest_in_window(const Window& w, const W* plane, std::int64_t y0, std::int64_t y1,
                               std::int64_t y2) {
  std::int64_t best = -1;
  for_each_tap(w, y0, y1, y2, [&](std::int64_t at, std::int64_t) {
    const bool is_nan = plane[at] != plane[at];
    if (best < 0 || plane[at] > plane[best] || (is_nan && plane[best] == plane[best])) best = at;
  });
  return best;
}

}  // namespace tenon::ops
