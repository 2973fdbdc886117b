// What can be said of fixed plan keys before anything is searched.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/machine/cluster.h"
#include "tenon/planner/prediction.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

using FixedKeys = std::vector<std::pair<std::string, std::string>>;

/// Contradictions of the fixed keys with the model, the cluster, the batch (0: not given) and each
/// other, each with the least change; keys that do not exist are left to the search. Devices may be
/// left over, so degrees need only not exceed them unless all four are fixed.
std::vector<Problem> fixed_key_problems(const Workload& workload, const Cluster& cluster,
                                        const FixedKeys& fixed, std::int64_t batch);

/// The 16-bit format that all devices compute in: bf16, else fp16, else fp32.
Precision usual_precision(const Cluster& cluster);

}  // namespace tenon::planner
