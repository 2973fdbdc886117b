// Windows of the page as strides, dilations and pads of oneDNN.
#include "tenon/backends/cpu/convolution_geometry_internal.h"
#include "tenon/ops/convolutions.h"

namespace tenon::backends::cpu {

using dnnl::memory;

namespace {

memory::format_tag plain_tag(std::size_t ndim) {
  return ndim == 3   ? memory::format_tag::abc
         : ndim == 4 ? memory::format_tag::abcd
         : ndim == 5 ? memory::format_tag::abcde
                     : memory::format_tag::abcdef;
}

}  // namespace

memory::desc plain_layout(const memory::dims& dims) {
  return {dims, memory::data_type::f32, plain_tag(dims.size())};
}
memory::desc any_layout(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}
memory::desc channels_last_layout(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  std::int64_t stride = dims[1];
  for (std::size_t i = dims.size(); i-- > 2; stride *= dims[i]) strides[i] = stride;
  strides[0] = stride;
  return {dims, memory::data_type::f32, strides};
}

Result<ConvolutionGeometry> geometry_of(const Node& node, std::span<const Extent> in,
                                        const Extent& out) {
  ConvolutionGeometry g;
  g.adjoint = node.op().name == "conv_input_adjoint";
  const Dims &x = g.adjoint ? out.dims : in[0].dims, &y = g.adjoint ? in[0].dims : out.dims,
             &w = in[1].dims;
  const Call call(node);
  const ops::Window window =
      TENON_TRY(ops::window_of(call, Dims(x.begin() + 2, x.end()), Dims(w.begin() + 2, w.end())));
  g.batch = x[0];
  g.groups = call.integer("group");
  g.in = w[1];
  g.out = w[0] / g.groups;
  const std::size_t n = x.size() - 2;
  for (std::size_t i = ops::kMaxSpatial - n; i < ops::kMaxSpatial; ++i) {
    const ops::WindowAxis& a = window[i];
    g.x.push_back(a.x);
    g.y.push_back(y[2 + i - (ops::kMaxSpatial - n)]);
    g.kernel.push_back(a.kernel);
    g.strides.push_back(a.stride);
    g.dilations.push_back(a.dilation - 1);
    g.begin.push_back(a.begin);
    // What oneDNN's size formula needs: stride * (y - 1) + extent = x + begin + end.
    g.end.push_back(a.stride * (g.y.back() - 1) + a.extent() - a.x - a.begin);
    if (a.begin < 0 || g.end.back() < 0 - a.x)
      return unsupported("convolutions that crop their input are interpreted");
  }
  return g;
}

}  // namespace tenon::backends::cpu
