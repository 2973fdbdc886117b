// Leave one table out.
#include "tenon/planner/calibration/held_out.h"

#include <cmath>

#include "tenon/planner/pricer.h"

namespace tenon::planner {
namespace {

constexpr std::size_t kMostPoints = 10;

const std::string& device_of(const CalibrationSplit& split) {
  return split.calibration.front().cluster.groups.front().device.name;
}

/// At most ten of the points, spread evenly.
std::vector<MeasuredRun> spread(const std::vector<MeasuredRun>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<MeasuredRun> few;
  for (std::size_t i = 0; i < kMostPoints; ++i)
    few.push_back(points[i * points.size() / kMostPoints]);
  return few;
}

double bias_of(const std::vector<Residual>& rows) {
  double sum = 0;
  for (const Residual& row : rows) sum += row.relative_error();
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

/// The priors, with what the stack is known to do.
Calibration unmeasured(const CalibrationSplit& split) {
  Calibration calibration;
  calibration.name = "data-sheet";
  Efficiency& e = calibration.efficiency;
  e.fused_attention = split.options.fused_attention.front();
  e.split_pipeline_sends = split.options.split_pipeline_sends;
  for (const auto& factor : efficiency_factors()) {
    const auto prior = split.options.priors.find(factor.name);
    if (prior != split.options.priors.end()) e.*factor.member = prior->second;
    const auto fixed = split.options.fixed.find(factor.name);
    if (fixed != split.options.fixed.end()) e.*factor.member = fixed->second;
  }
  return calibration;
}

double share_within_sigma(const std::vector<MeasuredRun>& rows, const Calibration& calibration) {
  int within = 0;
  for (const MeasuredRun& run : rows) {
    Pricer pricer(workload_of(run.model), run.cluster, {calibration});
    const Prediction p = predict(pricer, run.plan);
    within += std::abs(p.step_seconds / run.seconds - 1) <= p.uncertainty;
  }
  return rows.empty() ? 0 : double(within) / static_cast<double>(rows.size());
}

}  // namespace

Result<std::vector<HeldOutTable>> measure_held_out() {
  const auto splits = TENON_TRY(training_splits());
  std::vector<HeldOutTable> result;
  for (const CalibrationSplit& split : splits) {
    if (!split.afterwards.empty()) continue;  // made from another calibration
    std::vector<MeasuredRun> rows = split.calibration, others;
    rows.insert(rows.end(), split.test.begin(), split.test.end());
    for (const CalibrationSplit& other : splits) {
      if (&other == &split || !other.afterwards.empty() || device_of(other) != device_of(split))
        continue;
      others.insert(others.end(), other.calibration.begin(), other.calibration.end());
    }
    HeldOutTable table;
    table.name = split.name;
    const auto guessed = residuals_of(rows, unmeasured(split));
    table.data_sheet = summarise(guessed), table.data_sheet_bias = bias_of(guessed);
    const auto points = spread(others);
    table.num_points = static_cast<int>(points.size());
    if (!points.empty()) {
      FitResult fit = TENON_TRY(calibrate(points, "held-out", split.options));
      fit.calibration.is_default = true;  // measured on other stacks than the rows
      const auto residuals = residuals_of(rows, fit.calibration);
      table.fitted = summarise(residuals), table.fitted_bias = bias_of(residuals);
      table.within_sigma = share_within_sigma(rows, fit.calibration);
    }
    result.push_back(std::move(table));
  }
  return result;
}

}  // namespace tenon::planner
