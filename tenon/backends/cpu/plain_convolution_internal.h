// Convolutions that run on plain NCHW planes: no layout to change, no copy to make.
#pragma once

#include <memory>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/ops/windows.h"

namespace tenon::backends::cpu {

/// One filter per channel: rows of taps, y[c, o] += w[c, k] * x[c, o * stride + k].
std::unique_ptr<Launch> depthwise_launch(const ops::Window& window, std::int64_t batch,
                                         std::int64_t channels, bool has_bias);

/// 1 x 1 filters without stride or pads: y[n] = w x[n] as one matrix product an image, w[out, in],
/// x[in, plane].
Result<std::unique_ptr<Launch>> pointwise_launch(std::int64_t batch, std::int64_t in,
                                                 std::int64_t out, std::int64_t plane,
                                                 bool has_bias);

/// Few input channels (a picture's): tiles of gathered taps, then matrix products.
Result<std::unique_ptr<Launch>> patch_launch(const ops::Window& window, std::int64_t batch,
                                             std::int64_t in, std::int64_t out, bool has_bias);

}  // namespace tenon::backends::cpu
