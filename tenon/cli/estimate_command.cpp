// tenon estimate: predicted latency and memory from machine descriptions.
#include <CLI/CLI.hpp>

#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/engine/engine.h"
#include "tenon/machine/local_probe.h"
#include "tenon/migrate/estimate.h"
#include "tenon/migrate/invent.h"
#include "tenon/migrate/model_file.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, target = "local";
  std::vector<NamedShape> shapes;
};

Result<std::vector<Device>> targets(const std::string& wanted) {
  std::vector<Device> out;
  if (wanted == "all" || wanted == "local" || wanted == "cpu")
    out.push_back(TENON_TRY(probe_local_device()));
  if (wanted == "all")
    for (const std::string& n : device_names()) out.push_back(TENON_TRY(device_named(n)));
  else if (out.empty())
    out.push_back(TENON_TRY(device_named(wanted)));
  return out;
}

Result<Answer> run(const Options& options, Context& context) {
  migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  std::vector<NamedShape> shapes = options.shapes;
  std::vector<std::string> names;
  for (const Value* v : file.graph->inputs()) names.push_back(v->name());
  TENON_TRY(resolve_names(shapes, names, "--shape"));
  std::map<std::string, Dims> sizes;
  for (const NamedShape& s : shapes) sizes[s.name] = s.dims;
  const Bindings bindings = TENON_TRY(migrate::choose_sizes(*file.graph, sizes));
  // The graph as a backend would run it, so that fused groups count once.
  passes::PassContext pass_context;
  pass_context.backend = TENON_TRY(engine::backend_named("cpu"));
  TENON_TRY(passes::run_passes(*file.graph, passes::inference_pipeline(), pass_context));
  const Precision precision = context.options.precision == "bf16"   ? Precision::bf16
                              : context.options.precision == "fp16" ? Precision::fp16
                                                                    : Precision::fp32;
  Answer answer;
  answer.json = {{"schema", "tenon.estimate/1"}, {"predicted", true}, {"targets", Json::array()}};
  for (const Device& d : TENON_TRY(targets(options.target))) {
    const migrate::Estimate e = migrate::estimate(*file.graph, bindings, d, precision);
    answer.json["targets"].push_back({{"target", e.target},
                                      {"latency_ms", e.latency_ms},
                                      {"memory_bytes", e.memory_bytes},
                                      {"limited_by", e.limited_by},
                                      {"compute_ms", e.compute_ms},
                                      {"memory_ms", e.memory_ms},
                                      {"launch_ms", e.launch_ms}});
    answer.text += fmt::format(
        "{:<14} {:10.3f} ms  {:8.1f} MB  limited by {} (predicted from the machine's "
        "description)\n",
        e.target, e.latency_ms, static_cast<double>(e.memory_bytes) / 1e6, e.limited_by);
  }
  return answer;
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model file")->required();
  app.add_option("--target", options->target, "local, a device preset, or all");
  add_named_shapes(app, "--shape", options->shapes, "sizes of an input");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command estimate_command() {
  return {.name = "estimate",
          .summary = "predicted latency and memory on a target, before compiling",
          .examples = {"tenon estimate model.onnx --target all"},
          .declare = declare};
}

}  // namespace tenon::cli
