// tenon migrate: a model into a bundle, with a report.
#include <CLI/CLI.hpp>

#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/migrate/migration.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, bundle, target = "cpu", recipe;
  std::vector<NamedShape> shapes;
  double seconds = 1;
  bool compares = true;
};

Result<Answer> run(const Options& options, Context& context) {
  if (options.target != "cpu" && options.target != "reference")
    return unsupported("no code is made for target '{}' yet", options.target)
        .with_help("use --target cpu");
  if (context.options.precision != "fp32")
    return unsupported("migration to {} is not there yet", context.options.precision)
        .with_help("leave --precision at fp32");
  migrate::MigrateOptions m;
  m.target = options.target;
  m.precision = context.options.precision;
  m.recipe = options.recipe;
  m.threads = context.options.num_threads > 0 ? context.options.num_threads : usable_processors();
  m.seed = context.options.seed;
  m.seconds = options.seconds;
  m.compares = options.compares;
  std::vector<NamedShape> shapes = options.shapes;
  const migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  std::vector<std::string> names;
  for (const Value* v : file.graph->inputs()) names.push_back(v->name());
  TENON_TRY(resolve_names(shapes, names, "--shape"));
  for (const NamedShape& s : shapes) m.shapes[s.name] = s.dims;
  const migrate::Migration done = TENON_TRY(
      migrate::migrate_model(options.model, options.bundle, m,
                             [&](std::string_view stage) { context.console.progress(stage); }));
  context.console.clear_progress();
  return Answer{
      .json = done.json(), .text = done.text(), .yes = !done.accuracy || done.accuracy->equal()};
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model file")->required();
  app.add_option("-o,--output", options->bundle, "the folder that becomes the bundle")->required();
  app.add_option("--target", options->target, "what to compile for");
  app.add_option("--recipe", options->recipe, "a recipe to put into the bundle")
      ->check(CLI::ExistingFile);
  add_named_shapes(app, "--shape", options->shapes,
                   "sizes of an input for the comparison and the measurements");
  app.add_option("--seconds", options->seconds, "how long each engine is measured")
      ->check(CLI::PositiveNumber);
  app.add_flag("!--no-compare", options->compares,
               "neither accuracy nor speed against other engines");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command migrate_command() {
  return {.name = "migrate",
          .summary = "compile a model into a bundle, with a report",
          .examples = {"tenon migrate model.onnx -o model.tenon",
                       "tenon migrate model.onnx -o model.tenon --shape x=1,3,48,320 --json"},
          .declare = declare};
}

}  // namespace tenon::cli
