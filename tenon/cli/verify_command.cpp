// tenon verify: two engines, files or precisions, layer by layer.
#include <CLI/CLI.hpp>

#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/migrate/comparison.h"
#include "tenon/migrate/invent.h"
#include "tenon/migrate/peers.h"
#include "tenon/migrate/session.h"
#include "tenon/migrate/values_io.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, other, against = "onnxruntime";
  std::vector<NamedFile> inputs;
  std::vector<NamedShape> shapes;
  double rtol = -1, atol = -1;
};

// Given files where there are any, invented values for the rest.
Result<Datums> inputs_for(const Options& options, const migrate::Session& s, std::uint64_t seed) {
  std::vector<NamedShape> shapes = options.shapes;
  std::vector<NamedFile> files = options.inputs;
  TENON_TRY(resolve_names(shapes, s.input_names, "--shape"));
  TENON_TRY(resolve_names(files, s.input_names, "--input"));
  std::map<std::string, Datum> given;
  std::map<std::string, Dims> sizes;
  const Graph& graph = s.executable->graph();
  for (const NamedFile& f : files)
    for (const Value* v : graph.inputs())
      if (v->name() == f.name) {
        given[f.name] = TENON_TRY(migrate::read_value(f.file, f.name, v->type()));
        if (given[f.name].is_tensor()) sizes[f.name] = given[f.name].tensor().dims();
      }
  for (const NamedShape& n : shapes) sizes[n.name] = n.dims;
  Datums inputs = TENON_TRY(migrate::invent_inputs(graph, sizes, seed));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (auto it = given.find(s.input_names[i]); it != given.end()) inputs[i] = it->second;
  return inputs;
}

NamedTensors tensors_of(const migrate::Session& s, const Datums& inputs) {
  NamedTensors out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_tensor()) out.emplace_back(s.input_names[i], inputs[i].tensor());
  return out;
}

// Values of another engine, file or bundle by name, and what it is called.
struct Expected {
  std::string label;
  std::map<std::string, Tensor> values;
};

Result<Expected> expected_values(const std::string& path, const std::string& backend,
                                 const Datums& inputs, ThreadPool& pool) {
  migrate::SessionOptions open;
  open.backend = backend;
  const migrate::Session other = TENON_TRY(migrate::open_session(path, open));
  const migrate::Observation o = TENON_TRY(migrate::observe(*other.executable, inputs, pool));
  Expected e{backend + " on " + path, {}};
  for (const auto& [name, v] : o.values) e.values.emplace(name, v.tensor);
  for (std::size_t i = 0; i < o.outputs.size(); ++i)
    if (o.outputs[i].is_tensor())
      e.values.insert_or_assign(other.output_names[i], o.outputs[i].tensor());
  return e;
}

Result<Expected> expected_of(const Options& options, const migrate::Session& s,
                             const Datums& inputs, Context& context, ThreadPool& pool) {
  if (!options.other.empty())
    return expected_values(options.other, context.options.backend, inputs, pool);
  if (options.against == "reference")
    return expected_values(options.model, "reference", inputs, pool);
  if (options.against != "onnxruntime")
    return expected_values(options.against, context.options.backend, inputs, pool);
  if (s.format != "onnx")
    return unsupported("ONNX Runtime cannot run a model of form {}", s.format)
        .with_help("use --against reference, or name a second model");
  migrate::PeerLayers layers =
      TENON_TRY(migrate::peer_layers(options.model, tensors_of(s, inputs)));
  return Expected{layers.engine, std::move(layers.values)};
}

std::string_view verdict_of(const migrate::Comparison& c) {
  if (c.equal()) return "equal";
  return c.outputs_equal() ? "not equal: the outputs are, values on the way are not" : "not equal";
}

std::string text_of(const migrate::Comparison& c) {
  std::string text =
      fmt::format("{} against {}: {} (rtol {}, atol {}; {} values compared)\n", c.left, c.right,
                  verdict_of(c), c.tolerance.rtol, c.tolerance.atol, c.layers.size());
  for (const auto& d : c.outputs)
    text += fmt::format("output  {:<30} {} of {} differ, largest {:.3e}, relative {:.3e}{}\n",
                        d.name, d.different, d.count, d.max_absolute, d.max_relative,
                        d.mismatch.empty() ? "" : "  " + d.mismatch);
  if (const auto* w = c.worst())
    text += fmt::format("worst   {} ({}): relative {:.3e}\n", w->name, w->op, w->max_relative);
  if (const auto* b = c.first_bad())
    text += fmt::format("first bad node  {} ({}) {}\n", b->name, b->op, b->place);
  return text;
}

// Operators that ran on the interpreter because the backend has no kernel for them.
Json fallbacks_of(const migrate::Session& s) {
  Json list = Json::array();
  for (const auto& f : s.compile.fallbacks)
    list.push_back({{"node", f.node}, {"op", f.op}, {"reason", f.reason}});
  return list;
}

Result<Answer> run(const Options& options, Context& context) {
  migrate::SessionOptions open;
  open.backend = context.options.backend;
  const migrate::Session s = TENON_TRY(migrate::open_session(options.model, open));
  const Datums inputs = TENON_TRY(inputs_for(options, s, context.options.seed));
  ThreadPool pool(context.options.num_threads > 0 ? context.options.num_threads
                                                  : usable_processors());
  const Expected expected = TENON_TRY(expected_of(options, s, inputs, context, pool));
  migrate::Tolerance tolerance = migrate::tolerance_for(context.options.precision);
  if (options.rtol >= 0) tolerance.rtol = options.rtol;
  if (options.atol >= 0) tolerance.atol = options.atol;
  const migrate::Observation got = TENON_TRY(migrate::observe(*s.executable, inputs, pool));
  migrate::Comparison c = migrate::compare(got, expected.values, s.output_names, tolerance);
  c.left = context.options.backend;
  c.right = expected.label;
  if (c.outputs.empty())
    return invalid("{} has none of the outputs of {}", expected.label, options.model);
  Json json = c.json();
  json["fallbacks"] = fallbacks_of(s);
  return Answer{.json = std::move(json), .text = text_of(c), .yes = c.equal()};
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model or bundle")->required();
  app.add_option("other", options->other, "a second model or bundle to compare with");
  app.add_option("--against", options->against, "onnxruntime, reference, or a bundle");
  add_named_files(app, "--input", options->inputs, "a value for an input; the others are invented");
  add_named_shapes(app, "--shape", options->shapes, "sizes of an input");
  app.add_option("--rtol", options->rtol, "relative tolerance");
  app.add_option("--atol", options->atol,
                 "absolute tolerance, in units of the largest expected value where that is over 1");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command verify_command() {
  return {.name = "verify",
          .summary = "compare two engines, files or precisions, layer by layer",
          .examples = {"tenon verify model.onnx --against onnxruntime",
                       "tenon verify model.onnx --against reference --json",
                       "tenon verify model.tenon model.onnx"},
          .declare = declare};
}

}  // namespace tenon::cli
