// Experiments with the search itself: against exhaustive search, part by part, and as problems
// grow.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/planner/search/request.h"

namespace tenon::planner {

struct SmallProblemResult {
  bool mixed = false;
  std::uint64_t index = 0;
  double exhaustive = 0, found = 0;  ///< seconds a step
  std::int64_t configurations = 0;
  double regret() const { return found / exhaustive - 1; }
};
/// `count` generated problems, half of them mixed; those in which nothing fits are left out.
std::vector<SmallProblemResult> study_small_problems(std::uint64_t seed, int count);

struct MethodResult {
  std::string method;
  int missed = 0;  ///< problems in which it never came within 1 % of the best known plan
  std::vector<double> evaluations;  ///< to within 1 %, the cap where it missed; one a problem
};
/// Random, hierarchical, genetic without and with the policy, and the full search on `problems`
/// mixed problems with a cap of `cap` configurations each. The best known plan is the best that any
/// of them found. `hard_only` keeps the problems that random or hierarchical search missed.
std::vector<MethodResult> study_methods(std::uint64_t seed, int problems, std::int64_t cap,
                                        bool hard_only);

struct GrowthPoint {
  std::string axis;  ///< "devices", "layers", "device types"
  double size = 0;
  double seconds = 0;
  std::int64_t configurations = 0;
};
/// Time of one search as each size grows, the others held; `clock` gives seconds.
std::vector<GrowthPoint> study_growth(const std::function<double()>& clock);

/// `types` device types, 256 devices of each.
Cluster mixed_cluster(int types);

struct SpeedResult {
  std::string what;
  double seconds = 0;
  double count = 0;  ///< of `unit`, done in that time
  std::string unit;  ///< "configurations", "events"
};
/// Searches on 104 to 16,384 devices, pricing alone, and an event simulation of every rank.
std::vector<SpeedResult> study_speed(const std::function<double()>& clock);

}  // namespace tenon::planner
