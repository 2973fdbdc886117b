// NumPy's slicing rules on concrete sizes.
#include "tenon/ops/slices.h"

#include <algorithm>

namespace tenon::ops {

Cut cut_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  if (start < 0) start += size;
  if (end < 0) end = end < -size ? -1 - size : end + size;
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  start = std::clamp(start, low, std::max(low, high));
  end = std::clamp(end, low, std::max(low, high));
  const std::int64_t length = step > 0 ? end - start : start - end,
                     stride = step > 0 ? step : -step;
  return {start, step, length <= 0 ? 0 : (length - 1) / stride + 1};
}

Result<std::vector<int>> cut_axes(const Call& c, int input, int ndim, std::size_t n) {
  std::vector<int> axes;
  if (!c.has(input)) {
    for (std::size_t i = 0; i < n; ++i) axes.push_back(static_cast<int>(i));
  } else {
    auto known = c.known_integers(input);
    TENON_EXPECT(known.has_value(), "axes are known");
    for (std::int64_t a : *known) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  }
  TENON_EXPECT(axes.size() == n && static_cast<int>(n) <= ndim,
               "starts, ends and axes have one length", c.in(0));
  return axes;
}

Result<std::vector<Cut>> cuts_of(const Call& c, int first, const Dims& dims) {
  const auto starts = c.known_integers(first), ends = c.known_integers(first + 1);
  TENON_EXPECT(starts && ends && starts->size() == ends->size(), "starts and ends have one length",
               c.in(0));
  const auto axes =
      TENON_TRY(cut_axes(c, first + 2, static_cast<int>(dims.size()), starts->size()));
  std::vector<std::int64_t> steps(starts->size(), 1);
  if (c.has(first + 3)) steps = *c.known_integers(first + 3);
  TENON_EXPECT(steps.size() == starts->size(), "steps and starts have one length", c.in(0));
  std::vector<Cut> cuts;
  for (std::int64_t d : dims) cuts.push_back({0, 1, d});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    TENON_EXPECT(steps[i] != 0, "steps are not 0", c.in(0));
    const auto axis = static_cast<std::size_t>(axes[i]);
    cuts[axis] = cut_of((*starts)[i], (*ends)[i], steps[i], dims[axis]);
  }
  return cuts;
}

}  // namespace tenon::ops
