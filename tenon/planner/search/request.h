// What a search is asked, and what it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/planner/pricer.h"

namespace tenon::planner {

enum class Objective { time, memory, cost, energy, pareto };
std::string_view name(Objective objective);
const std::vector<std::string>& objective_names();

/// Parts of the search, for measuring what each contributes; `full` is for use.
enum class SearchMethod {
  full,          ///< coarse, evolution or refinement, then every choice that can still win
  hierarchical,  ///< coarse, then every choice that can still win, then all moves in a fixed order
  evolutionary,  ///< coarse, then the genetic algorithm with the policy
  random         ///< plans drawn at random, unequal stages among them
};

/// What a plan costs in each of the objectives, for one step.
struct Metrics {
  double seconds = 0;
  double memory_bytes = 0;  ///< of the fullest device, with its reserve
  double dollars = 0;       ///< devices rented and electricity
  double joules = 0;  ///< drawn by the devices; the data centre's own overhead is in `dollars`
};

struct SearchRequest {
  std::int64_t global_batch = 0;  ///< samples of a step
  Objective objective = Objective::time;
  std::vector<std::pair<std::string, std::string>> fixed;  ///< plan keys that must stay as given
  std::int64_t max_evaluations = 3'000'000;                ///< distinct valid plans priced
  double max_seconds = 60;  ///< a cap only: the result says when it was met
  std::uint64_t seed = 0;
  std::vector<Plan> start_from;  ///< results of earlier searches, tried first
  SearchMethod method = SearchMethod::full;
  bool use_policy = true;         ///< order and prune refinement moves by the trained policy
  std::function<double()> clock;  ///< seconds from any zero; the planner itself reads no clock
};

struct Candidate {
  Plan plan;
  Price price;
  Metrics metrics;
  double value = 0;  ///< of the objective; smaller is better
};

struct RunnerUp {
  Candidate candidate;
  std::string why_lost;
};

struct SearchReport {
  Candidate best;
  std::vector<RunnerUp> runners_up;  ///< best first, each with other degrees or another schedule
  std::vector<Candidate>
      pareto;              ///< no other is better in all of time, memory, cost and energy; by time
  std::string limited_by;  ///< the largest part of the step that is not plain computation
  std::string advice;      ///< the one change that would help most, and by how much
  double seconds = 0;
  std::int64_t configurations = 0;  ///< distinct, valid, priced in time and memory
  std::int64_t to_within_one_percent =
      0;                   ///< configurations priced when the final value was first near
  std::string stopped_by;  ///< "converged", "evaluations", "seconds", "interrupted"
};

}  // namespace tenon::planner
