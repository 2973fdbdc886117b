#include "tenon/planner/fixed_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/planner/check.h"
#include "tenon/planner/plan.h"

namespace tenon::planner {
namespace {

bool fixes(const FixedKeys& fixed, std::string_view key) {
  return std::any_of(fixed.begin(), fixed.end(), [&](const auto& f) { return f.first == key; });
}

/// The fixed keys over defaults; false where one does not exist or has no such value.
bool apply(const FixedKeys& fixed, Plan& plan) {
  for (const auto& [key, value] : fixed) {
    if (!set_plan_key(plan, key, value).ok()) return false;
  }
  return true;
}

/// Problems that more freedom cannot mend, by code and by the keys they speak of.
bool is_certain(const Problem& problem, const FixedKeys& fixed) {
  const std::string& code = problem.code;
  if (code == "tensor") return fixes(fixed, "tensor_parallel");
  if (code == "sequence") return fixes(fixed, "context_parallel");
  if (code == "experts")
    return problem.message.find("experts") != std::string::npos &&
           problem.message.find("replicas") == std::string::npos;
  if (code == "layers")
    return fixes(fixed, "pipeline_parallel") || fixes(fixed, "layers_per_stage");
  return code == "precision";
}

}  // namespace

std::vector<Problem> fixed_key_problems(const Workload& workload, const Cluster& cluster,
                                        const FixedKeys& fixed, std::int64_t batch) {
  Plan plan;
  if (fixed.empty() || !apply(fixed, plan)) return {};
  std::vector<Problem> problems;
  const std::int64_t devices = cluster.num_devices();
  if (plan.num_devices() > devices) {
    problems.push_back({"devices",
                        fmt::format("the fixed degrees multiply to {} devices, and {} has {}",
                                    plan.num_devices(), cluster.name, devices),
                        "fix smaller degrees, or take more devices"});
  }
  const std::int64_t round = std::int64_t{plan.data_parallel} * plan.micro_batch;
  if (batch > 0 && batch % round != 0) {
    problems.push_back(
        {"batch",
         fmt::format("a batch of {} samples does not divide by the fixed data_parallel {} x "
                     "micro_batch {}",
                     batch, plan.data_parallel, plan.micro_batch),
         fmt::format("a batch of {}",
                     std::max<std::int64_t>(1, (batch + round / 2) / round) * round)});
  }
  for (Problem& problem : check_structure(workload, cluster, plan)) {
    if (is_certain(problem, fixed)) problems.push_back(std::move(problem));
  }
  return problems;
}

Precision usual_precision(const Cluster& cluster) {
  for (Precision precision : {Precision::bf16, Precision::fp16}) {
    const bool all = std::all_of(cluster.groups.begin(), cluster.groups.end(),
                                 [&](const NodeGroup& g) { return g.device.has(precision); });
    if (all) return precision;
  }
  return Precision::fp32;
}

}  // namespace tenon::planner
