// Published expert plans against the search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/plan.h"

namespace tenon::planner {

struct ExpertPlan {
  std::string label;
  double measured_seconds = 0, predicted_seconds = 0;  // of the expert's plan
  std::int64_t plans = 0;                              // that fit in the expert's space
  /// Divisions of the devices whose best plan is faster than the expert's, plus one: its place in a
  /// list with one plan a division, as `tenon plan` shows them.
  int rank = 0;
  double behind_best = 0;  // how much longer it takes than the best of the space, predicted
  Plan best;               // of the full space
  double gain = 0;         // predicted: expert's time over the best plan's, less one
  double gain_sigma = 0;   // one standard deviation of that
};

/// The plans of Megatron-LM's SC'21 table. The expert's space: data, tensor and pipeline peers,
/// chunks and micro-batch size, with full recomputation, replicated optimizer state and whole
/// norms, priced exhaustively. The full space is searched with the same batch and precision.
Result<std::vector<ExpertPlan>> compare_with_experts();

}  // namespace tenon::planner
