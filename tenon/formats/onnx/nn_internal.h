// Attributes of windows, shared by plain, quantised and fused convolutions.
#pragma once

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {

/// strides, dilations, pads and auto_pad, as the pages name them.
Attrs window_attrs(Context& c);
/// The same and group.
Attrs conv_attrs(Context& c);

}  // namespace tenon::onnx
