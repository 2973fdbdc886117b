// Convolutions over [n, spatial..., c].
#pragma once

#include "tenon/backends/cpu/convolution_geometry_internal.h"
#include "tenon/backends/cpu/epilogue_internal.h"
#include "tenon/backends/cpu/onednn_internal.h"

namespace tenon::backends::cpu {

/// What a launch is made from. The group outlives the launch.
struct ChannelsLastCall {
  const AnchoredGroup& group;
  ConvolutionGeometry geometry;
  std::span<const Extent> inputs;  // of the group
  const Extent& output;            // of the group, channels last
  const Tensor* weights;           // nullptr: not constant
};

/// Cut over images or rows of the output; steps as post-ops where oneDNN has them.
Result<std::unique_ptr<Launch>> channels_last_launch(ChannelsLastCall call);

/// The same for one filter a channel, on kernels of our own; nullptr where they do not apply.
Result<std::unique_ptr<Launch>> channels_last_depthwise(const ChannelsLastCall& call);

}  // namespace tenon::backends::cpu
