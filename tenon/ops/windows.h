// Sliding windows over the spatial axes (all after batch and channel), shared by convolution and
// pooling: strides, pads, dilations and automatic padding; output sizes as formulas; concrete
// loops.
#pragma once

#include <array>

#include "tenon/ops/op_page.h"

namespace tenon::ops {

inline constexpr int kMaxSpatial = 3;

/// strides, pads (all begins, then all ends; negative ones crop), dilations (empty lists: 1, 0, 1),
/// and auto_pad: NOTSET (pads count), SAME_UPPER and SAME_LOWER (ceil(x / stride) outputs, an odd
/// pad at the end or the beginning), VALID (no pads).
std::vector<AttrSpec> window_attrs();
/// The window attributes as set on a call, for another call with the same geometry; `extra` are
/// further attributes to copy.
Attrs copied_attrs(const Call& c, std::initializer_list<std::string_view> extra = {});

/// One spatial axis of a window on known sizes.
struct WindowAxis {
  std::int64_t x = 1, kernel = 1, y = 1;  // sizes: input, taps of the window, output
  std::int64_t stride = 1, begin = 0, end = 0, dilation = 1;
  /// Input positions from the first tap to the last.
  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Outputs [first, last) whose tap `k` lies inside of the input.
  std::int64_t first(std::int64_t k) const;
  std::int64_t last(std::int64_t k) const;
  /// Input position that tap k of output y reads.
  std::int64_t at(std::int64_t output, std::int64_t k) const {
    return output * stride - begin + k * dilation;
  }
};
/// The last three are the spatial axes; missing ones in front have size 1.
using Window = std::array<WindowAxis, kMaxSpatial>;

/// Checks strides, pads, dilations and auto_pad against the number of spatial axes.
Result<bool> check_window(const Call& c, std::size_t num_spatial);
/// Output sizes of windows of `kernel` over `x` (spatial sizes only). `ceil_mode` keeps a last
/// window that hangs over the end, as long as it starts inside of the input or its left pad.
Result<Shape> window_sizes(const Call& c, const Shape& x, const Shape& kernel,
                           bool ceil_mode = false);
/// The same on concrete sizes, with the pads that auto_pad means.
Result<Window> window_of(const Call& c, const Dims& x, const Dims& kernel, bool ceil_mode = false);

inline Shape spatial(const Type& t) { return Shape(t.shape().begin() + 2, t.shape().end()); }
inline Dims spatial(const Tensor& t) { return Dims(t.dims().begin() + 2, t.dims().end()); }
/// Sizes read at run time from a 1-d input, or fresh dims where they are not known.
Result<Shape> given_sizes(const Call& c, int input, int num_spatial);

/// Calls f(offset in the input plane, tap number) for every tap of output (y0, y1, y2) that lies
/// inside of the input.
template <class F>
void for_each_tap(const Window& w, std::int64_t y0, std::int64_t y1, std::int64_t y2, F&& f) {
  for (std::int64_t a = 0; a < w[0].kernel; ++a) {
    const std::int64_t p0 = w[0].at(y0, a);
    if (p0 < 0 || p0 >= w[0].x) continue;
    for (std::int64_t b = 0; b < w[1].kernel; ++b) {
      const std::int64_t p1 = w[1].at(y1, b);
      if (p1 < 0 || p1 >= w[1].x) continue;
      const std::int64_t row = (p0 * w[1].x + p1) * w[2].x,
                         tap = (a * w[1].kernel + b) * w[2].kernel;
      for (std::int64_t k = 0; k < w[2].kernel; ++k) {
        const std::int64_t p2 = w[2].at(y2, k);
        if (p2 >= 0 && p2 < w[2].x) f(row + p2, tap + k);
      }
    }
  }
}

/// Calls f(y0, y1, y2, position in the output plane) for every output.
template <class F>
void for_each_output(const Window& w, F&& f) {
  std::int64_t at = 0;
  for (std::int64_t a = 0; a < w[0].y; ++a)
    for (std::int64_t b = 0; b < w[1].y; ++b)
      for (std::int64_t k = 0; k < w[2].y; ++k) f(a, b, k, at++);
}
inline std::int64_t x_plane(const Window& w) { return w[0].x * w[1].x * w[2].x; }
inline std::int64_t y_plane(const Window& w) { return w[0].y * w[1].y * w[2].y; }
inline std::int64_t num_taps(const Window& w) { return w[0].kernel * w[1].kernel * w[2].kernel; }

}  // namespace tenon::ops
