// The split of the published measurements into calibration and test rows
// (data/training/split.toml).
#pragma once

#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/calibration/fit.h"

namespace tenon::planner {

/// One shipped calibration: its options and its runs, apart.
struct CalibrationSplit {
  std::string name;
  std::string stack;
  bool is_default = false;  // what the device gets when no calibration is named
  FitOptions options;
  /// Factors set after the fit: what a newer stack is known to do that the fitted one did not.
  std::map<std::string, double> afterwards;
  bool fused_afterwards = false;
  std::vector<MeasuredRun> calibration;
  std::vector<MeasuredRun> test;
};

/// All splits, in the file's order. An error names a row that does not exist.
Result<std::vector<CalibrationSplit>> training_splits();
/// The calibration of one split, fitted afresh.
Result<FitResult> fit_split(const CalibrationSplit& split);

/// How well predictions rank plans: Kendall's tau, and how much slower the plan predicted best is
/// than the best measured one.
struct RankQuality {
  double kendall_tau = 0;
  double clear_tau = 0;  // over pairs whose measured times differ by more than 5 %
  double regret = 0;
};
RankQuality rank_quality(const std::vector<Residual>& rows);

/// Mean and worst absolute relative error, and the share of rows within their own sigma.
struct ErrorSummary {
  int count = 0;
  double mean = 0;
  double worst = 0;
  double median = 0;
};
ErrorSummary summarise(const std::vector<Residual>& rows);

}  // namespace tenon::planner
