// Tile and wave model of matrix products.
#include "tenon/cost/kernel_cost.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

/// Tile shapes that vendor libraries choose from, and the share of the peak each can reach: smaller
/// tiles reuse less of what they load.
struct Tile {
  double m, n, rate;
};
constexpr Tile kTiles[] = {{256, 128, 1.00}, {128, 256, 1.00}, {128, 128, 0.93},
                           {128, 64, 0.80},  {64, 128, 0.80},  {64, 64, 0.62}};

constexpr double kFullTile = 256 * 128;

double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return 4;
    case Precision::bf16:
    case Precision::fp16: return 2;
    case Precision::fp8:
    case Precision::int8: return 1;
  }
  return 2;
}

double precision_rate(const Device& device, const Efficiency& efficiency, Precision precision) {
  const bool low = precision == Precision::fp8 || precision == Precision::int8;
  return low && device.has(precision) ? efficiency.low_precision_peak : 1.0;
}

}  // namespace

double matmul_seconds(const Device& device, const Efficiency& e, const MatmulShape& shape,
                      Precision precision, double rate) {
  if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0 || shape.batch <= 0) return 0;
  const double peak = device.peak(precision) * device.sustained *
                      precision_rate(device, e, precision) * std::min(1.0, e.matmul_peak * rate);
  const double unit_peak = peak / device.num_units;
  double best = 1e300;
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) * shape.batch;
    const double smooth = std::max(1.0, tiles / device.num_units);
    const double whole = std::ceil(tiles / device.num_units);
    const double waves = e.wave_quantisation * whole + (1 - e.wave_quantisation) * smooth;
    const double area = tile.m * tile.n;
    const double seconds =
        2 * area * shape.k / (unit_peak * tile.rate) + e.tile_seconds * area / kFullTile;
    best = std::min(best, waves * seconds);
  }
  const double elements = shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  const double bytes = elements * bytes_per_element(precision);
  const double moving = bytes / (device.memory_bytes_per_second * e.memory_peak);
  return std::max(best, moving) + e.kernel_seconds;
}

double memory_seconds(const Device& device, const Efficiency& e, double bytes) {
  if (bytes <= 0) return 0;
  return bytes / (device.memory_bytes_per_second * e.memory_peak) + e.kernel_seconds;
}

double fused_attention_seconds(const Device& device, const Efficiency& e, double flops,
                               Precision precision) {
  if (flops <= 0) return 0;
  return flops / (device.peak(precision) * device.sustained * e.matmul_peak * e.attention_peak) +
         e.kernel_seconds;
}

}  // namespace tenon
