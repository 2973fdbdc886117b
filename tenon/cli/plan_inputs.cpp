#include "tenon/cli/plan_inputs.h"

#include <CLI/CLI.hpp>

#include "tenon/base/file.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

Result<ModelSpec> model_of(const PlanInputs& inputs, const PlanFile& file) {
  if (!inputs.model.empty()) return load_model(inputs.model);
  if (!file.model_json.empty()) return parse_model(file.model_json, inputs.plan + ": model");
  return invalid("no model: none given, and the plan embeds none")
      .at(inputs.plan)
      .with_help("add --model");
}

Result<Cluster> cluster_of(const PlanInputs& inputs, const PlanFile& file) {
  if (!inputs.cluster.empty()) return load_cluster(inputs.cluster);
  if (!file.cluster_json.empty())
    return parse_cluster(file.cluster_json, inputs.plan + ": cluster");
  return invalid("no cluster: none given, and the plan embeds none")
      .at(inputs.plan)
      .with_help("add --cluster");
}

}  // namespace

void add_plan_inputs(CLI::App& app, PlanInputs& inputs) {
  app.add_option("--model", inputs.model,
                 "a preset, a config.json or a TOML; default: the plan's own");
  app.add_option("--cluster", inputs.cluster,
                 "a TOML, or a device and a count (H100-SXM:64); default: the plan's own");
  app.add_option("--plan", inputs.plan, "the plan, JSON or TOML")->required();
  app.add_option("--calibration", inputs.calibration,
                 "a calibration's name or file; default: the device's shipped one");
}

Result<LoadedPlan> load_plan(const PlanInputs& inputs) {
  const PlanFile file = TENON_TRY(parse_plan(TENON_TRY(read_file(inputs.plan)), inputs.plan));
  ModelSpec model = TENON_TRY(model_of(inputs, file));
  Cluster cluster = TENON_TRY(cluster_of(inputs, file));
  Pricer::Calibrations calibrations;
  if (!inputs.calibration.empty()) {
    calibrations.push_back(TENON_TRY(load_calibration(inputs.calibration)));
  }
  Pricer pricer(workload_of(model), std::move(cluster), std::move(calibrations));
  return LoadedPlan{file.plan, std::move(model), std::move(pricer)};
}

}  // namespace tenon::cli
