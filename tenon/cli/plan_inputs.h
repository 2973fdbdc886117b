// What several planner commands read alike: a model, a cluster, a calibration, a plan.
#pragma once

#include <optional>
#include <string>

#include "tenon/base/error.h"
#include "tenon/planner/model_spec.h"
#include "tenon/planner/plan.h"
#include "tenon/planner/pricer.h"

namespace CLI {
class App;
}

namespace tenon::cli {

struct PlanInputs {
  std::string model, cluster, plan, calibration;
};

/// Declares --model, --cluster, --plan and --calibration; the first three may be left out where the
/// plan file embeds model and cluster.
void add_plan_inputs(CLI::App& app, PlanInputs& inputs);

struct LoadedPlan {
  planner::Plan plan;
  std::string model;
  planner::Pricer pricer;
  std::optional<planner::ModelSpec> spec;  ///< absent for a model that is a graph
};
/// The workload of a preset, a config.json or TOML, or an ONNX or Tenon file (its inputs then hold
/// one sample; symbolic sizes other than the batch are 64, as `tenon inspect` chooses them).
Result<planner::Workload> load_workload(const std::string& model);
/// Whether a --model names a description (preset, config.json, TOML), not a graph's file.
bool is_model_description(const std::string& model);
/// Reads all of them; problems of each file are reported with its name.
Result<LoadedPlan> load_plan(const PlanInputs& inputs);

}  // namespace tenon::cli
