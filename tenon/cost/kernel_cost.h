// Time of one kernel on a device: matrix products by tiles and waves, the rest by bytes.
#pragma once

#include "tenon/cost/efficiency.h"
#include "tenon/machine/device.h"

namespace tenon {

/// `batch` products c[m, n] = sum over k of a[m, k] * b[k, n].
struct MatmulShape {
  double m = 0, n = 0, k = 0;
  double batch = 1;
  double flops() const { return 2 * m * n * k * batch; }
};

/// Seconds of a matrix product: the best of a few tile sizes, each paying whole waves over the
/// device's units (as far as `wave_quantisation` says) and filling each tile, or the time of its
/// bytes where that is longer. `rate` scales the reachable peak (attention products).
double matmul_seconds(const Device& device, const Efficiency& efficiency, const MatmulShape& shape,
                      Precision precision, double rate = 1.0);

/// Seconds of a kernel that only moves `bytes`.
double memory_seconds(const Device& device, const Efficiency& efficiency, double bytes);

/// Seconds of `flops` in a fused attention kernel (never memory bound at training lengths).
double fused_attention_seconds(const Device& device, const Efficiency& efficiency, double flops,
                               Precision precision);

}  // namespace tenon
