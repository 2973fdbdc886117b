// tenon run: runs a model once, or a list of cases in one process.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/interrupt.h"
#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/cli/output.h"
#include "tenon/dataset/image.h"
#include "tenon/migrate/recipe_session.h"
#include "tenon/migrate/session.h"
#include "tenon/migrate/values_io.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, batch, output_dir, recipe;
  bool recompile = false;
  std::vector<NamedFile> inputs;
};

using Loaded = migrate::Session;

Result<Loaded> load(const std::string& path, const std::string& backend, bool recompile) {
  migrate::SessionOptions options;
  options.backend = backend;
  options.recompile = recompile;
  return migrate::open_session(path, options);
}

Result<Datums> read_inputs(const Loaded& l, const std::map<std::string, std::string>& files) {
  Datums inputs;
  const Graph& graph = l.executable->graph();
  for (std::size_t i = 0; i < l.input_names.size(); ++i) {
    const Type& type = graph.inputs()[i]->type();
    auto it = files.find(l.input_names[i]);
    if (it == files.end()) {
      if (type.is_optional()) {
        inputs.emplace_back();
        continue;
      }
      return not_found("input {} ({}) is not given", l.input_names[i], type.text())
          .with_help(fmt::format("add --input {}=FILE", l.input_names[i]));
    }
    inputs.push_back(TENON_TRY(migrate::read_value(it->second, l.input_names[i], type)));
  }
  return inputs;
}

struct Outcome {
  Json outputs;
  double seconds = 0;
};

Result<Outcome> run_once(const Loaded& l, const std::map<std::string, std::string>& files,
                         const std::string& folder, ThreadPool& pool) {
  const Datums inputs = TENON_TRY(read_inputs(l, files));
  const auto start = std::chrono::steady_clock::now();
  const Datums outputs = TENON_TRY(l.executable->run(inputs, pool));
  Outcome o;
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  o.outputs = folder.empty() ? migrate::describe_values(l.output_names, outputs)
                             : TENON_TRY(migrate::write_values(folder, l.output_names, outputs));
  return o;
}

std::string text_of(const Outcome& o) {
  std::string text;
  for (const Json& j : o.outputs) {
    text += j["name"].get<std::string>();
    if (j.contains("dtype"))
      text += fmt::format("  {}{}", j["dtype"].get<std::string>(), j["shape"].dump());
    else
      text += "  " + j.value("kind", "");
    if (j.contains("file")) text += "  -> " + j["file"].get<std::string>();
    text += "\n";
  }
  return text + fmt::format("{:.3f} ms\n", o.seconds * 1e3);
}

Result<Answer> run_single(const Options& options, Context& context) {
  Loaded l = TENON_TRY(load(options.model, context.options.backend, options.recompile));
  std::vector<NamedFile> given = options.inputs;
  TENON_TRY(resolve_names(given, l.input_names, "--input"));
  std::map<std::string, std::string> files;
  for (const NamedFile& f : given) files[f.name] = f.file;
  ThreadPool pool(context.options.num_threads > 0 ? context.options.num_threads
                                                  : usable_processors());
  const Outcome o = TENON_TRY(run_once(l, files, options.output_dir, pool));
  return Answer{.json = {{"schema", "tenon.run/1"}, {"outputs", o.outputs}, {"seconds", o.seconds}},
                .text = text_of(o)};
}

bool is_plain(const std::string& file) {
  return file.ends_with(".npy") || file.ends_with(".npz") || file.ends_with(".pb");
}

// Whether the files need a recipe: pictures, sound, text.
bool wants_recipe(const Options& options) {
  return !options.recipe.empty() ||
         std::any_of(options.inputs.begin(), options.inputs.end(),
                     [](const NamedFile& f) { return !is_plain(f.file); });
}

Result<Answer> run_with_recipe(const Options& options, Context& context) {
  const std::filesystem::path recipe = options.recipe.empty()
                                           ? migrate::recipe_of(options.model)
                                           : std::filesystem::path(options.recipe);
  if (recipe.empty())
    return not_found("the model has no recipe, so it cannot take pictures, sound or text")
        .at(options.model)
        .with_help("name one with --recipe FILE, or give .npy inputs");
  std::map<std::string, std::filesystem::path> files;
  for (const NamedFile& f : options.inputs) files[f.name] = f.file;
  migrate::SessionOptions open;
  open.backend = context.options.backend;
  open.recompile = options.recompile;
  ThreadPool pool(context.options.num_threads > 0 ? context.options.num_threads
                                                  : usable_processors());
  const auto start = std::chrono::steady_clock::now();
  dataset::Answer done =
      TENON_TRY(migrate::run_by_recipe(options.model, recipe, files, open, pool));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Answer answer;
  for (const std::string& line : done.lines) answer.text += line + "\n";
  std::vector<std::string> names;
  Datums values;
  for (auto& [name, tensor] : done.outputs)
    names.push_back(name), values.emplace_back(std::move(tensor));
  const Json outputs = options.output_dir.empty()
                           ? migrate::describe_values(names, values)
                           : TENON_TRY(migrate::write_values(options.output_dir, names, values));
  if (done.mask && !options.output_dir.empty())
    TENON_TRY(
        dataset::write_png(std::filesystem::path(options.output_dir) / "mask.png", *done.mask));
  answer.json = {{"schema", "tenon.run/1"},
                 {"answer", done.json},
                 {"lines", done.lines},
                 {"outputs", outputs},
                 {"seconds", seconds}};
  return answer;
}

struct Case {
  std::string model, output_dir;
  std::map<std::string, std::string> inputs;
};

Result<Case> parse_case(std::string_view line) {
  const Json j = TENON_TRY(parse_json(line));
  if (!j.is_object() || !j.contains("model") || !j["model"].is_string())
    return invalid("a case is an object with \"model\", \"inputs\" and \"output_dir\"");
  Case c;
  c.model = j["model"].get<std::string>();
  if (j.contains("output_dir")) {
    if (!j["output_dir"].is_string()) return invalid("output_dir is not a text");
    c.output_dir = j["output_dir"].get<std::string>();
  }
  if (j.contains("inputs")) {
    if (!j["inputs"].is_object()) return invalid("inputs is not an object");
    for (const auto& [name, file] : j["inputs"].items()) {
      if (!file.is_string()) return invalid("input {} names no file", name);
      c.inputs[name] = file.get<std::string>();
    }
  }
  return c;
}

Result<Json> run_case(std::string_view line, Context& context, ThreadPool& pool) {
  const Case c = TENON_TRY(parse_case(line));
  const Loaded l = TENON_TRY(load(c.model, context.options.backend, false));
  for (const auto& [name, file] : c.inputs)
    if (std::find(l.input_names.begin(), l.input_names.end(), name) == l.input_names.end())
      return invalid("the model has no input {}", name);
  const Outcome o = TENON_TRY(run_once(l, c.inputs, c.output_dir, pool));
  return Json{{"ok", true}, {"seconds", o.seconds}, {"outputs", o.outputs}};
}

Result<Answer> run_batch(const Options& options, Context& context) {
  std::ifstream list(options.batch);
  if (!list) return not_found("the list of cases cannot be read").at(options.batch);
  ThreadPool pool(context.options.num_threads > 0 ? context.options.num_threads
                                                  : usable_processors());
  Answer answer;
  std::string line;
  while (!interrupted() && std::getline(list, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto result = run_case(line, context, pool);
    // The lines so far are whole; the case that was cut short gets none.
    if (interrupted() && !result.ok()) return answer;
    Json j;
    if (result.ok())
      j = std::move(*result);
    else {
      j = error_json(result.error(), name(result.error().code));
      j["ok"] = false;
      answer.yes = false;
    }
    TENON_TRY(context.print_line(j.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  return answer;
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model: an ONNX file, a Tenon graph or a bundle");
  add_named_files(
      app, "--input", options->inputs,
      "a value for an input: .npy, .npz, .pb; NAME= may be left out with a single input");
  app.add_option("--output-dir", options->output_dir,
                 "where outputs are written, one .npy each; made if missing");
  app.add_option("--recipe", options->recipe,
                 "how pictures, sound or text become inputs, and outputs an answer")
      ->check(CLI::ExistingFile);
  app.add_flag("--recompile", options->recompile,
               "ignore the native code in a bundle, for bundles from people one does not trust");
  app.add_option("--batch", options->batch, "a file with one JSON case a line; one result a line");
  return [options](Context& context) -> Result<Answer> {
    if (options->batch.empty() == options->model.empty())
      return context.wrong_usage("give either a model or --batch LIST",
                                 "tenon run MODEL --input x.npy, or tenon run --batch cases.jsonl");
    if (!options->batch.empty()) return run_batch(*options, context);
    return wants_recipe(*options) ? run_with_recipe(*options, context)
                                  : run_single(*options, context);
  };
}

}  // namespace

Command run_command() {
  return {.name = "run",
          .summary = "run a model once, or many cases in one process",
          .examples = {"tenon run model.onnx --input x=x.npy --output-dir out",
                       "tenon run models --recipe read_page.toml --input page.png",
                       "tenon run --batch cases.jsonl --backend reference --json"},
          .declare = declare};
}

}  // namespace tenon::cli
