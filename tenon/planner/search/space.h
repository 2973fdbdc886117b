// The choices a search has, and which of their combinations make a plan.
#pragma once

#include <string>
#include <vector>

#include "tenon/planner/search/request.h"

namespace tenon::planner {

/// A schedule with the number of chunks it is run with.
struct ScheduleChoice {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  int virtual_stages = 1;
};

/// How the devices are divided.
struct Mesh {
  int tensor = 1, pipeline = 1, context = 1, data = 1, expert = 1;
};

/// Candidate values of each key, ascending; a key that is fixed has one.
struct SearchSpace {
  Plan base;  ///< the fixed keys, and defaults of what is not searched
  std::vector<int> tensor, pipeline, context, expert, micro_batch, zero;
  std::vector<Recompute> recompute;
  std::vector<ScheduleChoice> schedules;
  std::vector<bool> sequence;
  std::vector<Offload> offload;
  std::vector<std::vector<Axis>> placements;
  std::vector<CollectiveAlgorithm> collectives;
  std::vector<ContextMethod> context_methods;
  int data = 0;  ///< fixed data-parallel degree, 0: whatever is left over
  bool layers_fixed = false, recompute_layers_fixed = false;
};

/// The space of a request. Errors: fixed keys or values that do not exist, all of them.
Result<SearchSpace> search_space(const Workload& workload, const Cluster& cluster,
                                 const SearchRequest& request);

/// All divisions of the devices that the workload admits, in a fixed order.
std::vector<Mesh> meshes(const SearchSpace& space, const Workload& workload,
                         std::int64_t num_devices);

/// Whether the degrees of a plan are among the candidates.
bool in_space(const Plan& plan, const SearchSpace& space);

Plan plan_of(const SearchSpace& space, const Mesh& mesh);

/// Why a plan cannot be run at all (memory apart); empty when it can.
std::string why_invalid(const Plan& plan, const Workload& workload, std::int64_t num_devices);

}  // namespace tenon::planner
