#include "tenon/cli/plan_inputs.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/migrate/invent.h"
#include "tenon/migrate/model_file.h"
#include "tenon/planner/graph_workload.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

/// The model's description; nothing where --model names a graph.
Result<std::optional<ModelSpec>> spec_for(const PlanInputs& inputs, const PlanFile& file) {
  if (!inputs.model.empty()) {
    if (!is_model_description(inputs.model)) return std::optional<ModelSpec>();
    return std::optional(TENON_TRY(load_model(inputs.model)));
  }
  if (!file.model_json.empty()) {
    return std::optional(TENON_TRY(parse_model(file.model_json, inputs.plan + ": model")));
  }
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

bool is_model_description(const std::string& model) {
  const std::filesystem::path path(model);
  return path.extension() == ".toml" || path.extension() == ".json" ||
         !std::filesystem::exists(path);
}

Result<Workload> load_workload(const std::string& model) {
  const std::filesystem::path path(model);
  if (is_model_description(model)) return workload_of(TENON_TRY(load_model(model)));
  const auto file = TENON_TRY(migrate::open_model(path, {.free_batch = true}));
  const Bindings sizes = TENON_TRY(migrate::choose_sizes(*file.graph, {}));
  Workload workload = TENON_TRY(workload_of(*file.graph, GraphSizes{sizes, 1}));
  workload.name = path.filename().string();
  return workload;
}

Result<LoadedPlan> load_plan(const PlanInputs& inputs) {
  const PlanFile file = TENON_TRY(parse_plan(TENON_TRY(read_file(inputs.plan)), inputs.plan));
  std::optional<ModelSpec> spec = TENON_TRY(spec_for(inputs, file));
  Workload workload = spec ? workload_of(*spec) : TENON_TRY(load_workload(inputs.model));
  Cluster cluster = TENON_TRY(cluster_of(inputs, file));
  Pricer::Calibrations calibrations;
  if (!inputs.calibration.empty()) {
    calibrations.push_back(TENON_TRY(load_calibration(inputs.calibration)));
  }
  std::string name = workload.name;
  Pricer pricer(std::move(workload), std::move(cluster), std::move(calibrations));
  return LoadedPlan{file.plan, std::move(name), std::move(pricer), std::move(spec)};
}

}  // namespace tenon::cli
