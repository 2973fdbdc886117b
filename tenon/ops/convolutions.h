// The three faces of one sum, y[n, m, o] = sum over c, k of x[n, c, o * stride - begin + k *
// dilation]
// * w[m, c, k]: conv computes y, its adjoints x and w. Each calls the others in its gradient.
#pragma once

#include "tenon/ops/windows.h"

namespace tenon::ops {

/// Sizes of a convolution. w is [groups * out, in, kernel...]; x has groups * in channels, y has
/// groups * out.
struct ConvSizes {
  std::int64_t batch = 0, groups = 1, in = 0, out = 0;  // in, out: channels of one group
  Window window;
};

std::vector<AttrSpec> conv_attrs();
/// Checks that channels fit `group`: x has w's channels times group, w's rows divide by group.
Result<bool> check_channels(const Call& c, const Dim& x_channels, const Type& w);
/// Axis names of a convolution's tensors: n over the batch, c over input channels (when they may be
/// split: the products are then summed), m over output channels. Groups keep channels whole.
struct ConvFactors {
  std::vector<std::string> x, w, y;
  std::string c, m;
};
ConvFactors conv_factors(const Call& c, bool splits_input_channels = true);
/// The spatial sizes of `v` as a 1-d i64 value.
Value* spatial_value(B g, Value* v);

/// A 1 x 1 convolution without stride or pads reads rows of the whole plane: fewer, longer rows.
void merge_rows(Window& w);

/// Calls f(weight, x, y, count, step) for every row of products: y[y + j] belongs to
/// w[weight] * x[x + j * step] for j in [0, count). Offsets are into whole tensors.
template <class F>
void for_each_row(const ConvSizes& s, F&& f) {
  const Window& w = s.window;
  const std::int64_t taps = num_taps(w), xs = x_plane(w), ys = y_plane(w);
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t m = 0; m < s.groups * s.out; ++m)
      for (std::int64_t c = 0; c < s.in; ++c) {
        const std::int64_t x = (n * s.groups * s.in + m / s.out * s.in + c) * xs,
                           y = (n * s.groups * s.out + m) * ys;
        for (std::int64_t k = 0; k < taps; ++k) {
          const std::int64_t k2 = k % w[2].kernel, k1 = k / w[2].kernel % w[1].kernel,
                             k0 = k / w[2].kernel / w[1].kernel;
          const std::int64_t lo = w[2].first(k2), count = w[2].last(k2) - lo, x2 = w[2].at(lo, k2);
          if (count <= 0) continue;
          for (std::int64_t a = w[0].first(k0); a < w[0].last(k0); ++a)
            for (std::int64_t b = w[1].first(k1); b < w[1].last(k1); ++b)
              f((m * s.in + c) * taps + k,
                x + (w[0].at(a, k0) * w[1].x + w[1].at(b, k1)) * w[2].x + x2,
                y + (a * w[1].y + b) * w[2].y + lo, count, w[2].stride);
        }
      }
}

}  // namespace tenon::ops
