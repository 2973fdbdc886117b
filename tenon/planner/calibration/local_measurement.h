// The local host's calibration from micro-benchmarks.
#pragma once

#include "tenon/machine/local_measure.h"
#include "tenon/planner/calibration/fit.h"

namespace tenon::planner {

/// Efficiency factors that explain measured kernels on a device.
FitResult calibrate_kernels(const Device& device, const LocalMeasurement& measured);

/// Probes and measures this host (some seconds), and fits.
Result<FitResult> measure_local_device();

}  // namespace tenon::planner
