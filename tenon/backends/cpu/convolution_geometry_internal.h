// Sizes of convolutions in oneDNN's terms.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "tenon/backends/cpu/kernels_internal.h"

namespace tenon::backends::cpu {

/// Row-major layout, and the one that a primitive likes best.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims);
dnnl::memory::desc any_layout(const dnnl::memory::dims& dims);
/// [n, spatial..., c] in memory for sizes [n, c, spatial...].
dnnl::memory::desc channels_last_layout(const dnnl::memory::dims& dims);

/// Sizes of one convolution; parts are made by changing them.
struct ConvolutionGeometry {
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  // channels of one group
  dnnl::memory::dims x, y, kernel;                      // spatial
  dnnl::memory::dims strides, dilations, begin, end;
  bool adjoint = false;  // computes x from y
  friend bool operator==(const ConvolutionGeometry&, const ConvolutionGeometry&) = default;

  dnnl::memory::dims x_dims() const { return joined(batch, groups * in, x); }
  dnnl::memory::dims y_dims() const { return joined(batch, groups * out, y); }
  dnnl::memory::dims w_dims() const {
    dnnl::memory::dims d =
        groups > 1 ? dnnl::memory::dims{groups, out, in} : dnnl::memory::dims{out, in};
    d.insert(d.end(), kernel.begin(), kernel.end());
    return d;
  }
  static dnnl::memory::dims joined(std::int64_t n, std::int64_t c,
                                   const dnnl::memory::dims& spatial) {
    dnnl::memory::dims d = {n, c};
    d.insert(d.end(), spatial.begin(), spatial.end());
    return d;
  }
};

/// Sizes of `anchor` on these operands, channels first; unsupported where it crops its input.
Result<ConvolutionGeometry> geometry_of(const Node& anchor, std::span<const Extent> in,
                                        const Extent& out);

}  // namespace tenon::backends::cpu
