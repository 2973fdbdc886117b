// How well a table is predicted that no calibration has seen.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/calibration/split.h"

namespace tenon::planner {

/// All rows of one calibration's tables, predicted without any of them.
struct HeldOutTable {
  std::string name;         // of the calibration whose rows were held out
  int num_points = 0;       // rows of the device's other tables that were fitted on
  ErrorSummary fitted;      // under that fit; count 0 where the device has no other table
  double fitted_bias = 0;   // mean signed error
  double within_sigma = 0;  // share of rows within their own uncertainty
  ErrorSummary data_sheet;  // with no measurement at all: priors on top of the data sheet
  double data_sheet_bias = 0;
};

/// For every calibration in the split: its device is fitted on at most ten rows of the device's
/// other calibrations, spread evenly, and predicts every row of its own tables. What a stack does
/// (fused attention, what overlaps) is taken as known, as whoever runs it knows it.
Result<std::vector<HeldOutTable>> measure_held_out();

}  // namespace tenon::planner
