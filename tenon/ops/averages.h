// What average_pool and its adjoint share: by how much each window's sum is scaled.
#pragma once

#include "tenon/ops/pooling.h"

namespace tenon::ops {

/// The pooling attributes, count_include_pad, and divisor (0: the number of elements).
std::vector<AttrSpec> average_attrs();
/// 1 / divisor for each output position of a plane; 0 where a window covers nothing.
std::vector<double> window_scales(const Call& c, const Window& w);

}  // namespace tenon::ops
