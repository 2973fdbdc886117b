// tenon grad: gradients of a model at a point.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "tenon/autograd/differentiate.h"
#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/engine/engine.h"
#include "tenon/migrate/model_file.h"
#include "tenon/migrate/values_io.h"
#include "tenon/ops/interpreter.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, output_dir;
  std::vector<NamedFile> inputs, upstream;
  std::vector<std::string> wrt;
  bool check = false;
};

// The floating inputs, and the weights that --wrt names; with --wrt only what it names.
Result<Values> variables(const Graph& graph, const std::vector<std::string>& wanted) {
  Values all = graph.inputs(), out;
  const Values constants = graph.constants();
  if (!wanted.empty()) all.insert(all.end(), constants.begin(), constants.end());
  for (Value* v : all)
    if (is_floating(v->type().dtype()) &&
        (wanted.empty() || std::find(wanted.begin(), wanted.end(), v->name()) != wanted.end()))
      out.push_back(v);
  for (const std::string& w : wanted)
    if (std::none_of(out.begin(), out.end(), [&](const Value* v) { return v->name() == w; }))
      return not_found("the model has no floating input or weight named {}", w);
  if (out.empty())
    return invalid("the model has no floating input").with_help("name a weight with --wrt");
  return out;
}

Result<Datums> read_all(const Graph& graph, const std::vector<NamedFile>& files) {
  Datums inputs;
  for (const Value* v : graph.inputs()) {
    const auto it = std::find_if(files.begin(), files.end(),
                                 [&](const NamedFile& f) { return f.name == v->name(); });
    if (it == files.end())
      return not_found("input {} ({}) is not given", v->name(), v->type().text())
          .with_help(fmt::format("add --input {}=FILE", v->name()));
    inputs.push_back(TENON_TRY(migrate::read_value(it->file, v->name(), v->type())));
  }
  return inputs;
}

// sum over outputs of <upstream, output>, in double on the interpreter.
Result<double> weighted_sum(const Graph& graph, const Datums& inputs,
                            const std::vector<Tensor>& upstream) {
  const Datums out = TENON_TRY(ops::interpret(graph, inputs));
  double total = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_tensor() || !is_floating(out[i].tensor().dtype())) continue;
    const auto y = to_doubles(out[i].tensor());
    for (std::size_t k = 0; k < y.size(); ++k)
      total +=
          y[k] * (upstream[i].defined() ? element(upstream[i], static_cast<std::int64_t>(k)) : 1.0);
  }
  return total;
}

// Central differences at up to 16 evenly spread elements of each variable; the worst relative
// error.
Result<double> check_gradients(const Graph& original, const Datums& inputs,
                               const std::vector<Tensor>& upstream, const Values& wrt,
                               const Datums& gradients) {
  auto graph = TENON_TRY(autograd::in_double(original));
  Datums at;
  for (const Datum& d : inputs)
    at.push_back(d.is_tensor() && is_floating(d.tensor().dtype())
                     ? Datum(from_doubles(to_doubles(d.tensor()), DType::f64, d.tensor().dims()))
                     : d);
  double worst = 0;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    const Values constants = graph->constants();
    const auto constant = std::find_if(constants.begin(), constants.end(),
                                       [&](const Value* v) { return v->name() == wrt[i]->name(); });
    const bool is_input = wrt[i]->kind() == Value::Kind::input;
    const Tensor base =
        is_input ? at[static_cast<std::size_t>(wrt[i]->index())].tensor() : (*constant)->tensor();
    const std::int64_t step = std::max<std::int64_t>(1, base.count() / 16);
    for (std::int64_t k = 0; k < base.count(); k += step) {
      double sides[2];
      const double h = 1e-5 * std::max(1.0, std::fabs(element(base, k)));
      for (int s = 0; s < 2; ++s) {
        auto moved = to_doubles(base);
        moved[static_cast<std::size_t>(k)] += s ? h : -h;
        const Tensor t = from_doubles(moved, DType::f64, base.dims());
        Datums point = at;
        if (is_input)
          point[static_cast<std::size_t>(wrt[i]->index())] = Datum(t);
        else
          (*constant)->set_tensor(t);
        sides[s] = TENON_TRY(weighted_sum(*graph, point, upstream));
      }
      if (!is_input) (*constant)->set_tensor(base);
      const double want = (sides[1] - sides[0]) / (2 * h), got = element(gradients[i].tensor(), k);
      worst = std::max(worst,
                       std::fabs(want - got) / std::max({1e-3, std::fabs(want), std::fabs(got)}));
    }
  }
  return worst;
}

Result<std::vector<Tensor>> read_upstream(const Graph& graph, std::vector<NamedFile> files) {
  TENON_TRY(resolve_names(files, graph.output_names(), "--upstream"));
  std::vector<Tensor> out(graph.outputs().size());
  for (const NamedFile& f : files)
    for (std::size_t i = 0; i < out.size(); ++i)
      if (graph.output_names()[i] == f.name)
        out[i] =
            TENON_TRY(migrate::read_value(f.file, f.name, graph.outputs()[i]->type())).tensor();
  return out;
}

Result<Answer> run(const Options& options, Context& context) {
  migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  Graph& graph = *file.graph;
  const auto original = graph.clone();
  std::vector<std::string> names;
  for (const Value* v : graph.inputs()) names.push_back(v->name());
  std::vector<NamedFile> given = options.inputs;
  TENON_TRY(resolve_names(given, names, "--input"));
  const Datums inputs = TENON_TRY(read_all(graph, given));
  const std::vector<Tensor> upstream = TENON_TRY(read_upstream(graph, options.upstream));
  const Values wrt = TENON_TRY(variables(graph, options.wrt));
  Values dys;
  for (const Tensor& t : upstream) dys.push_back(t.defined() ? graph.add_constant({}, t) : nullptr);
  const std::size_t num_outputs = graph.outputs().size();
  const Values gradients =
      TENON_TRY(autograd::differentiate(graph, Values(graph.outputs()), dys, wrt));
  std::vector<std::string> output_names = graph.output_names(), gradient_names;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    gradient_names.push_back(wrt[i]->name() + ".grad");
    graph.add_output(gradients[i], gradient_names.back());
  }
  auto executable = TENON_TRY(engine::compile(
      std::move(file.graph), *TENON_TRY(engine::backend_named(context.options.backend)), {}));
  ThreadPool pool(context.options.num_threads > 0 ? context.options.num_threads
                                                  : usable_processors());
  Datums out = TENON_TRY(executable->run(inputs, pool));
  const Datums grads(out.begin() + static_cast<std::ptrdiff_t>(num_outputs), out.end());
  out.resize(num_outputs);
  Answer answer;
  const bool writes = !options.output_dir.empty();
  answer.json = {{"schema", "tenon.grad/1"}};
  answer.json["outputs"] =
      writes ? TENON_TRY(migrate::write_values(options.output_dir, output_names, out))
             : migrate::describe_values(output_names, out);
  answer.json["gradients"] =
      writes ? TENON_TRY(migrate::write_values(options.output_dir, gradient_names, grads))
             : migrate::describe_values(gradient_names, grads);
  for (const Json& g : answer.json["gradients"])
    answer.text += fmt::format("{}  {}{}\n", g["name"].get<std::string>(),
                               g["dtype"].get<std::string>(), g["shape"].dump());
  if (options.check) {
    // By the untouched copy: passes have been over the other graph.
    const double worst = TENON_TRY(check_gradients(
        *original, inputs, upstream, TENON_TRY(variables(*original, options.wrt)), grads));
    answer.json["worst_relative_error"] = worst;
    answer.text += fmt::format("worst relative error against central differences: {:.2e}\n", worst);
    answer.yes = worst < 1e-2;
  }
  return answer;
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model file")->required();
  add_named_files(app, "--input", options->inputs, "the point: a value for every input");
  add_named_files(app, "--upstream", options->upstream,
                  "the weight of an output in the sum that is differentiated; 1 where not given");
  app.add_option("--wrt", options->wrt,
                 "an input or weight; repeated; default: every floating input");
  app.add_option("--output-dir", options->output_dir,
                 "where outputs and NAME.grad.npy are written");
  app.add_flag("--check", options->check, "compare with central differences in double");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command grad_command() {
  return {.name = "grad",
          .summary = "gradients of a model at a point",
          .examples = {"tenon grad model.onnx --input x=x.npy --output-dir out --check",
                       "tenon grad model.onnx --input x=x.npy --wrt conv1.weight --json"},
          .declare = declare};
}

}  // namespace tenon::cli
