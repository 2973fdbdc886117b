// From a search report to what a user gets: predictions of the winner and the others, and of a
// whole run.
#pragma once

#include "tenon/planner/search/search.h"

namespace tenon::planner {

/// A plan with its prediction, by events where its schedule has no exact closed form.
struct Predicted {
  Plan plan;
  Prediction prediction;
  std::string why_lost;  ///< empty for the winner
};

struct PlanAnswer {
  Predicted best;
  std::vector<Predicted> runners_up;
  SearchReport report;
};

/// Predicts the first plans of a report and puts them in the order of their predicted steps:
/// schedules that are priced by approximate formulas in the search are timed exactly here. `count`
/// plans are predicted.
PlanAnswer answer_of(Pricer& pricer, SearchReport report, std::size_t count = 6);

/// A whole training run at a plan's pace.
struct RunTotals {
  double steps = 0, days = 0;  ///< failures and checkpoints included
  double days_undisturbed = 0;
  double failures = 0;          ///< expected over the run
  double dollars = 0, kwh = 0;  ///< kwh: drawn from the grid
};

/// `units` tokens, or samples where the model has no tokens. Checkpoints are taken at the interval
/// that loses least (Young 1974): sqrt(2 x their cost x time between failures).
RunTotals run_totals(const Pricer& pricer, const Plan& plan, double step_seconds,
                     const Metrics& metrics, double units);

}  // namespace tenon::planner
