// Fitting a device's efficiency to measured steps.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tenon/cost/efficiency.h"
#include "tenon/planner/calibration/measured_run.h"

namespace tenon::planner {

struct FitOptions {
  /// Factors that are facts of the stack: set, and not fitted.
  std::map<std::string, double> fixed;
  /// Other prior means than the data sheet's, for factors that a stack is known to have otherwise.
  std::map<std::string, double> priors;
  /// Whether attention is fused; empty: whichever explains the points better.
  std::vector<bool> fused_attention = {true, false};
  bool split_pipeline_sends = true;
  /// Relative error that a point is trusted to.
  double point_sigma = 0.04;
  int max_iterations = 40;
};

struct Residual {
  std::string id, label;
  double measured_seconds = 0;
  double predicted_seconds = 0;
  double relative_error() const { return predicted_seconds / measured_seconds - 1; }
};

struct FitResult {
  Calibration calibration;
  std::vector<Residual> residuals;
};

/// Maximum a posteriori fit: each factor's logarithm has a normal prior around its data-sheet
/// default, each point an error with heavy tails, so that few points move few factors and an
/// outlier moves none. Deterministic. Errors: no points, or points of several device types.
Result<FitResult> calibrate(const std::vector<MeasuredRun>& points, const std::string& name,
                            const FitOptions& options = {});

/// Predicted seconds of a run under a calibration.
double predicted_seconds(const MeasuredRun& run, const Calibration& calibration);
std::vector<Residual> residuals_of(const std::vector<MeasuredRun>& runs,
                                   const Calibration& calibration);

}  // namespace tenon::planner
