// Kernel measurements to efficiency factors.
#include "tenon/planner/calibration/local_measurement.h"

#include <algorithm>
#include <cmath>

#include "tenon/cost/kernel_cost.h"
#include "tenon/machine/local_probe.h"

namespace tenon::planner {

namespace {

/// The median: neither the luckiest run nor one that others disturbed.
double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

FitResult calibrate_kernels(const Device& device, const LocalMeasurement& measured) {
  FitResult fit;
  Efficiency& e = fit.calibration.efficiency;
  fit.calibration.name = device.name;
  fit.calibration.device = device.name;
  fit.calibration.note = "fitted on micro-benchmarks of this host";
  e.kernel_seconds = std::clamp(measured.start_seconds, 1e-8, 1e-3);
  e.host_seconds = e.kernel_seconds;
  e.tile_seconds = 0, e.wave_quantisation = 0;  // a processor's cores share one product smoothly
  std::vector<double> bandwidths, rates;
  for (const auto& copy : measured.copies) bandwidths.push_back(copy.bytes / copy.seconds);
  for (const auto& mm : measured.matmuls) rates.push_back(2.0 * mm.m * mm.n * mm.k / mm.seconds);
  const double bandwidth = middle(bandwidths), rate = middle(rates);
  // The data sheet of a host is a guess: where it is beaten, the guess was low.
  e.memory_peak = std::min(0.98, bandwidth / device.memory_bytes_per_second);
  e.matmul_peak = std::min(0.97, rate / device.peak(Precision::fp32));
  for (const auto& mm : measured.matmuls) {
    const MatmulShape shape{double(mm.m), double(mm.n), double(mm.k), 1};
    const std::string label = fmt::format("matmul {} x {} x {}", mm.m, mm.k, mm.n);
    fit.residuals.push_back(
        {label, label, mm.seconds, matmul_seconds(device, e, shape, Precision::fp32)});
    fit.calibration.rows.push_back(label);
  }
  for (const auto& copy : measured.copies) {
    const std::string label = fmt::format("copy {:.0f} MiB", copy.bytes / 2 / 1024 / 1024);
    fit.residuals.push_back({label, label, copy.seconds, memory_seconds(device, e, copy.bytes)});
    fit.calibration.rows.push_back(label);
  }
  double sum = 0;
  for (const auto& r : fit.residuals) sum += r.relative_error() * r.relative_error();
  e.noise = std::clamp(std::sqrt(sum / double(fit.residuals.size())), 0.02, 1.0);
  return fit;
}

Result<FitResult> measure_local_device() {
  const Device device = TENON_TRY(probe_local_device());
  return calibrate_kernels(device, measure_local_host());
}

}  // namespace tenon::planner
