// tenon plan model and largest: what a model is to the planner, and how large one may be.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tenon/cli/plan_commands.h"
#include "tenon/cli/plan_inputs.h"
#include "tenon/cli/plan_text.h"
#include "tenon/planner/largest_model.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

Json classes_json(const Workload& workload) {
  std::vector<std::int64_t> times(workload.classes.size(), 0);
  for (int block : workload.blocks) {
    for (int c : workload.block_types[static_cast<std::size_t>(block)].classes) ++times[c];
  }
  for (const auto* ends : {&workload.first, &workload.last}) {
    for (int c : *ends) ++times[static_cast<std::size_t>(c)];
  }
  Json list = Json::array();
  for (std::size_t c = 0; c < workload.classes.size(); ++c) {
    const LayerClass& layer = workload.classes[c];
    list.push_back({{"name", layer.name},
                    {"kind", name(layer.kind)},
                    {"count", times[c]},
                    {"parameters", layer.num_parameters()},
                    {"forward_flops", layer.flops()}});
  }
  return list;
}

Result<Answer> run_model(const std::string& model, Context&) {
  const Workload workload = TENON_TRY(load_workload(model));
  const double tokens = workload.tokens_per_sample;
  Json json = {{"schema", "tenon.plan_model/1"},
               {"name", workload.name},
               {"parameters", workload.num_parameters()},
               {"layers", workload.blocks.size()},
               {"tokens_per_sample", tokens},
               {"model_flops_per_sample", workload.model_flops()},
               {"classes", classes_json(workload)}};
  if (is_model_description(model)) json["model"] = to_json(TENON_TRY(load_model(model)));
  std::string text = fmt::format("{}: {:.4g} B parameters, {} layers\n", workload.name,
                                 workload.num_parameters() / 1e9, workload.blocks.size());
  text += tokens > 0 ? fmt::format("{:.0f} tokens a sample, {:.4g} GFLOP a token trained\n", tokens,
                                   workload.model_flops() / tokens / 1e9)
                     : fmt::format("{:.4g} GFLOP a sample trained\n", workload.model_flops() / 1e9);
  for (const Json& layer : json["classes"]) {
    text += fmt::format("{:>5} x {:<24} {:>10.4f} M parameters {:>12.4f} GFLOP forward\n",
                        layer["count"].get<std::int64_t>(), layer["name"].get<std::string>(),
                        layer["parameters"].get<double>() / 1e6,
                        layer["forward_flops"].get<double>() / 1e9);
  }
  return Answer{std::move(json), std::move(text)};
}

Runner declare_model(CLI::App& app) {
  auto model = std::make_shared<std::string>();
  app.add_option("model", *model,
                 "a preset, a Hugging Face config.json, a TOML, or an ONNX or Tenon file")
      ->required();
  return [model](Context& context) { return run_model(*model, context); };
}

struct LargestOptions {
  std::string model, cluster;
  std::vector<std::string> fixed;
  std::int64_t batch = 0;
};

Result<Answer> run_largest(const LargestOptions& options, Context&) {
  LargestRequest request;
  request.samples = static_cast<double>(options.batch);
  for (const std::string& text : options.fixed) {
    const auto at = text.find('=');
    if (at == std::string::npos || at == 0)
      return invalid("{} is not of the form key=value", text).at("--fix");
    request.fixed.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  const ModelSpec family = TENON_TRY(load_model(options.model));
  const Cluster cluster = TENON_TRY(load_cluster(options.cluster));
  LargestModel largest = TENON_TRY(largest_model(family, cluster, request));
  const Plan& plan = largest.found.report.best.plan;
  const Prediction prediction = predict(largest.found.pricer, plan);
  Json json = {{"schema", "tenon.plan_largest/1"},
               {"cluster", cluster.name},
               {"parameters", largest.parameters},
               {"model", to_json(largest.model)},
               {"plan", to_json(plan)},
               {"prediction", to_json(prediction)},
               {"next",
                {{"parameters", largest.next_parameters},
                 {"model", to_json(largest.next)},
                 {"why_not", largest.why_not}}}};
  const ModelSpec& m = largest.model.towers.empty() ? largest.model : largest.model.towers.back();
  const std::string shape =
      m.kind == ModelKind::dlrm
          ? fmt::format("{} tables of {} rows", m.tables, m.table_rows)
          : fmt::format("{} layers, hidden {}, {} heads", m.layers, m.hidden, m.heads);
  std::string text = fmt::format(
      "The largest model of the family of {} that {} trains has {:.4g} B parameters: {}.\n\n{}\n",
      family.name, cluster.name, largest.parameters / 1e9, shape, summary(plan));
  text += text_of(prediction);
  text +=
      fmt::format("the next step, {:.4g} B: {}\n", largest.next_parameters / 1e9, largest.why_not);
  return Answer{std::move(json), std::move(text)};
}

Runner declare_largest(CLI::App& app) {
  auto options = std::make_shared<LargestOptions>();
  app.add_option("--model", options->model, "a member of the family: a preset, config.json or TOML")
      ->required();
  app.add_option("--cluster", options->cluster, "a TOML, or a device and a count (H100-SXM:64)")
      ->required();
  app.add_option("--batch", options->batch, "samples of a step; default: about 4M tokens")
      ->check(CLI::PositiveNumber);
  app.add_option("--fix", options->fixed, "key=value of the plan that must stay so; repeat");
  return [options](Context& context) { return run_largest(*options, context); };
}

}  // namespace

Command plan_model_command() {
  return {.name = "model",
          .summary = "what a model is to the planner: parameters, work, layers",
          .examples = {"tenon plan model llama3-70b", "tenon plan model config.json --json"},
          .declare = declare_model,
          .children = {}};
}

Command plan_largest_command() {
  return {.name = "largest",
          .summary = "the largest model of a family that a cluster can train",
          .examples = {"tenon plan largest --model llama3-8b --cluster H100-SXM:64",
                       "tenon plan largest --model gpt2 --cluster A100-40G:8 --fix offload=none"},
          .declare = declare_largest,
          .children = {}};
}

}  // namespace tenon::cli
