// How well the planner predicts the published measurements: one page, made from the data.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/calibration/split.h"
#include "tenon/planner/prediction.h"

namespace tenon::planner {

/// Errors of one calibration on its test rows, with everything a page shows.
struct SplitAccuracy {
  CalibrationSplit split;
  FitResult fit;
  std::vector<Residual> test;
  std::vector<Prediction> predictions;  // of the test rows
  ErrorSummary summary;
  double within_sigma = 0;  // share of test rows whose error is below their own uncertainty
};

/// Fits every split afresh and predicts its test rows.
Result<std::vector<SplitAccuracy>> measure_accuracy();

/// Ranking of the vTrain groups (plans of one model on one cluster), the row left out excepted.
struct GroupRanking {
  std::string group;
  int plans = 0;
  RankQuality quality;
};
Result<std::vector<GroupRanking>> measure_ranking();

/// A measured quantity beside a predicted one, for tables that are not whole steps.
struct Comparison {
  std::string what;
  double measured = 0;
  double predicted = 0;
};
/// Peak memory of the Megatron runs, bytes.
Result<std::vector<Comparison>> compare_memory();
/// One layer of the 22B model under the 2022 calibration, milliseconds forward and backward.
Result<std::vector<Comparison>> compare_layer();
/// All-reduce in one A100 node under the priors, microseconds.
Result<std::vector<Comparison>> compare_all_reduce();
/// One expert layer on eight H100, milliseconds forward and backward.
Result<std::vector<Comparison>> compare_experts();

/// docs/planner_accuracy.md as text.
Result<std::string> accuracy_page();

}  // namespace tenon::planner
