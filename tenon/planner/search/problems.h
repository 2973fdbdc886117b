// Generated planning problems: for training the move policy and for checking the search.
#pragma once

#include "tenon/planner/search/evaluator.h"

namespace tenon::planner {

struct PlanningProblem {
  Workload workload;
  Cluster cluster;
  std::int64_t global_batch = 1;
};

/// A decoder of 4 to 16 layers on 2 to 16 devices of one type, or (mixed) of two or three types;
/// number `index` of the stream `seed`. Memory is cut down so that about half of the plans do not
/// fit.
PlanningProblem generated_problem(std::uint64_t seed, std::uint64_t index, bool mixed);

/// The best value over the whole grid: all meshes, micro-batches, ZeRO stages, recomputation,
/// schedules, and every cut into stages where the cluster is mixed and stages are at most four.
/// Infinite where nothing fits.
double exhaustive_value(Pricer& pricer, const SearchRequest& request);

}  // namespace tenon::planner
