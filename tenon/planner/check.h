// Whether a plan is valid for a model on a cluster: every reason, and the least change that helps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/planner/plan.h"
#include "tenon/planner/prediction.h"
#include "tenon/planner/pricer.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

/// Everything that can be seen without pricing: degrees against devices, batch, heads, layers,
/// experts, schedule and precision. Empty: the plan can be priced.
std::vector<Problem> check_structure(const Workload& workload, const Cluster& cluster,
                                     const Plan& plan);

/// Also whether it fits in memory. `price`, where given, receives the price if one was made.
std::vector<Problem> check(Pricer& pricer, const Plan& plan, Price* price = nullptr);

/// A change of one plan, and what it costs.
struct Change {
  std::string text;  // "recompute = full"
  Plan plan;
  Price price;
};
/// The one-key change (two where one is not enough) that makes a plan fit with the shortest step.
std::optional<Change> least_change_that_fits(Pricer& pricer, const Plan& plan);

/// The answer to `tenon plan simulate`.
struct Simulation {
  bool valid = false;
  std::vector<Problem> problems;
  std::optional<Prediction> prediction;  // absent where none can be made
};
/// Prices one plan and never changes it.
Simulation simulate(Pricer& pricer, const Plan& plan);

}  // namespace tenon::planner
