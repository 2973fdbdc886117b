// What happens to a plan when one thing changes: in the plan, or in the cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/planner/search/search.h"

namespace tenon::planner {

struct KeyChange {
  std::string key, before, after;  ///< as JSON text
};
/// Keys whose values differ, in the order of plan files.
std::vector<KeyChange> differences(const Plan& before, const Plan& after);

/// One move away from a plan.
struct Alternative {
  std::string move;
  std::vector<KeyChange> changes;
  Plan plan;
  Price price;
  double slower = 0;  ///< relative; negative: faster
};
/// The best plan of each kind of move, fastest of those that fit first, then those that do not fit.
std::vector<Alternative> alternatives(Pricer& pricer, const Plan& plan);

/// A change of the cluster.
struct ClusterChange {
  double node_link = 1, cluster_link = 1;  ///< factors of bandwidth
  double memory_bytes = 0;                 ///< of each device; 0: as it is
  std::int64_t lost_devices = 0;           ///< negative: gained, in whole nodes of the first group
};
Result<Cluster> changed(const Cluster& cluster, const ClusterChange& change);

/// Seconds until training goes on with `after` when it ran with `before`: the states that devices
/// must fetch from others, each over its own cluster link, and the restart that the cluster states.
double replan_seconds(const Pricer& pricer, const Plan& before, const Plan& after);

}  // namespace tenon::planner
