// tenon plan export and import: plans as other engines' files, and their files as plans.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/cli/common_options.h"
#include "tenon/cli/plan_commands.h"
#include "tenon/cli/plan_inputs.h"
#include "tenon/planner/check.h"
#include "tenon/planner/exports/engine.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

Engine engine_named(const std::string& text) {
  const auto& names = engine_names();
  const auto at = std::find(names.begin(), names.end(), text);
  TENON_CHECK(at != names.end(), "the option lets only known engines through, not {}", text);
  return static_cast<Engine>(at - names.begin());
}

Json remarks_json(const std::vector<Remark>& remarks) {
  Json list = Json::array();
  for (const Remark& r : remarks) list.push_back({{"key", r.key}, {"reason", r.reason}});
  return list;
}

std::string remarks_text(const char* word, const std::vector<Remark>& remarks) {
  std::string text;
  for (const Remark& r : remarks) text += fmt::format("{:<8} {}: {}\n", word, r.key, r.reason);
  return text;
}

struct ExportOptions {
  PlanInputs inputs;
  std::string engine, output;
};

Result<std::vector<std::string>> write_files(const std::string& output,
                                             const std::vector<EngineFile>& files) {
  const std::filesystem::path folder = output;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return io_error("cannot make the folder {}: {}", output, failed.message());
  std::vector<std::string> written;
  for (const EngineFile& file : files) {
    const auto path = folder / file.name;
    TENON_TRY(write_file_atomic(path, file.text));
    if (path.extension() == ".sh") {
      using std::filesystem::perms;
      std::filesystem::permissions(path, perms::owner_exec | perms::group_exec | perms::others_exec,
                                   std::filesystem::perm_options::add, failed);
    }
    written.push_back(path.string());
  }
  return written;
}

Result<Answer> run_export(const ExportOptions& options, Context&) {
  LoadedPlan loaded = TENON_TRY(load_plan(options.inputs));
  const Exported exported =
      TENON_TRY(export_plan(engine_named(options.engine), loaded.plan, loaded.pricer, loaded.spec));
  const auto files = TENON_TRY(write_files(options.output, exported.files));
  Json json = {{"schema", "tenon.plan_export/1"},
               {"engine", options.engine},
               {"files", files},
               {"lost", remarks_json(exported.lost)},
               {"notes", remarks_json(exported.notes)},
               {"written", to_json(exported.written)}};
  std::string text = summary(loaded.plan) + "\n";
  for (const std::string& file : files) text += "wrote    " + file + "\n";
  text += remarks_text("lost", exported.lost) + remarks_text("note", exported.notes);
  return Answer{std::move(json), std::move(text)};
}

Runner declare_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("plan", options->inputs.plan, "the plan, JSON or TOML")->required();
  add_choice(app, "--to", options->engine, engine_names(), "the engine");
  app.get_option("--to")->required();
  app.add_option("-o,--output-dir", options->output, "the folder to write to")->required();
  app.add_option("--model", options->inputs.model, "default: the plan's own");
  app.add_option("--cluster", options->inputs.cluster, "default: the plan's own");
  return [options](Context& context) { return run_export(*options, context); };
}

struct ImportOptions {
  std::string file, engine, model, cluster, output;
  std::vector<std::string> set;
  std::int64_t devices = 0;
  bool ignore_unknown = false;
};

Result<ImportRequest> request_of(const ImportOptions& options,
                                 const std::optional<Cluster>& cluster) {
  ImportRequest request;
  request.devices = options.devices;
  if (request.devices == 0 && cluster) request.devices = cluster->num_devices();
  request.ignore_unknown = options.ignore_unknown;
  for (const std::string& text : options.set) {
    const auto at = text.find('=');
    if (at == std::string::npos || at == 0)
      return invalid("{} is not of the form key=value", text).at("--set");
    request.set.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  const auto folder = std::filesystem::path(options.file).parent_path();
  request.read = [folder](const std::string& path) { return read_file(folder / path); };
  return request;
}

/// The plan as `tenon plan` writes it, with what is known of model and cluster.
Json plan_file(const Imported& imported, const std::optional<Cluster>& cluster) {
  Json plan = to_json(imported.plan);
  if (imported.model) plan["model"] = to_json(*imported.model);
  if (cluster) plan["cluster"] = to_json(*cluster);
  return plan;
}

std::string text_of_import(const ImportOptions& options, const Imported& imported) {
  std::string text = summary(imported.plan) + "\n";
  if (imported.model) {
    const ModelSpec& m = *imported.model;
    text += fmt::format("model    {}: {} layers, hidden {}, {:.3g} B parameters\n", m.name,
                        m.layers, m.hidden, workload_of(m).num_parameters() / 1e9);
  }
  text += remarks_text("lost", imported.lost) + remarks_text("note", imported.notes);
  if (!imported.ignored.empty()) {
    text += fmt::format("ignored  {} settings that are no choice of a plan: {}\n",
                        imported.ignored.size(), fmt::join(imported.ignored, " "));
  }
  if (!options.output.empty()) text += "wrote    " + options.output + "\n";
  return text;
}

Result<Answer> run_import(const ImportOptions& options, Context&) {
  std::optional<Cluster> cluster;
  if (!options.cluster.empty()) cluster = TENON_TRY(load_cluster(options.cluster));
  const ImportRequest request = TENON_TRY(request_of(options, cluster));
  const std::string text = TENON_TRY(read_file(options.file));
  Imported imported =
      TENON_TRY(import_plan(engine_named(options.engine), text, options.file, request));
  if (!options.model.empty()) {
    if (!is_model_description(options.model)) {
      return invalid("{} is a graph, which a plan does not embed", options.model)
          .with_help("leave --model out here and give it to tenon plan simulate");
    }
    imported.model = TENON_TRY(load_model(options.model));
  }
  const Json plan = plan_file(imported, cluster);
  Json files = Json::array();
  if (!options.output.empty()) {
    TENON_TRY(write_file_atomic(options.output, plan.dump(2) + "\n"));
    files.push_back(options.output);
  }
  Json json = {{"schema", "tenon.plan_import/1"},
               {"engine", options.engine},
               {"plan", plan},
               {"files", files},
               {"lost", remarks_json(imported.lost)},
               {"notes", remarks_json(imported.notes)},
               {"ignored", imported.ignored}};
  return Answer{std::move(json), text_of_import(options, imported)};
}

Runner declare_import(CLI::App& app) {
  auto options = std::make_shared<ImportOptions>();
  app.add_option("file", options->file,
                 "a launch script or list of arguments, a ds_config.json, a TOML")
      ->required();
  add_choice(app, "--from", options->engine, engine_names(), "the engine it is for");
  app.get_option("--from")->required();
  app.add_option("-o,--output", options->output, "the plan file to write");
  app.add_option("--model", options->model, "the model; default: as the file describes it");
  app.add_option("--cluster", options->cluster, "the cluster, for plan simulate and plan check");
  app.add_option("--devices", options->devices,
                 "number of devices; default: the cluster's or file's")
      ->check(CLI::PositiveNumber);
  app.add_option("--set", options->set,
                 "key=value of the plan that code, not the file, sets; repeat");
  app.add_flag("--ignore-unknown", options->ignore_unknown,
               "list settings that the engine does not know instead of refusing them");
  return [options](Context& context) { return run_import(*options, context); };
}

}  // namespace

Command plan_export_command() {
  return {.name = "export",
          .summary = "a plan as the configuration files of another engine",
          .examples = {"tenon plan export plan.json --to megatron -o megatron",
                       "tenon plan export plan.json --to deepspeed -o deepspeed",
                       "tenon plan export plan.json --to torchtitan -o torchtitan --json"},
          .declare = declare_export,
          .children = {}};
}

Command plan_import_command() {
  return {
      .name = "import",
      .summary = "another engine's configuration as a plan, to be judged and improved",
      .examples = {"tenon plan import train.sh --from megatron --cluster A100-80G:64 -o plan.json",
                   "tenon plan import ds_config.json --from deepspeed --cluster H100-SXM:16 "
                   "--model llama3-8b --set recompute=full"},
      .declare = declare_import,
      .children = {}};
}

}  // namespace tenon::cli
