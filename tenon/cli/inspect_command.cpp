// tenon inspect and tenon analyze: what is in a model, and what it costs.
#include <CLI/CLI.hpp>

#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/engine/engine.h"
#include "tenon/migrate/analysis.h"
#include "tenon/migrate/invent.h"
#include "tenon/migrate/model_file.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model;
  std::vector<NamedShape> shapes;
};

Json ports(const Values& values, const std::vector<std::string>* names) {
  Json out = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    Json shape = Json::array();
    for (const Dim& d : values[i]->type().shape())
      d.known() ? shape.push_back(*d.known()) : shape.push_back(d.text());
    out.push_back({{"name", names ? (*names)[i] : values[i]->name()},
                   {"type", values[i]->type().text()},
                   {"dtype", std::string(name(values[i]->type().dtype()))},
                   {"shape", shape}});
  }
  return out;
}

std::string port_lines(const char* label, const Json& list) {
  std::string text;
  for (const Json& p : list)
    text += fmt::format("{:<11} {}: {}\n", label, p["name"].get<std::string>(),
                        p["type"].get<std::string>());
  return text;
}

Result<Answer> inspect(const Options& options, Context&) {
  const migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  const migrate::Analysis a = migrate::analyze(*file.graph, {});
  Json operators = Json::object();
  for (const auto& w : a.operators) operators[w.op] = w.count;
  Json problems = file.warnings;
  if (file.baked_batch)
    problems.push_back(fmt::format("the batch size {} is baked into the file at {} places",
                                   file.baked_batch->size, file.baked_batch->places.size()));
  Answer answer;
  answer.json = {{"schema", "tenon.inspect/1"},
                 {"format", file.format},
                 {"opsets", file.opsets},
                 {"producer", file.producer},
                 {"inputs", ports(file.graph->inputs(), nullptr)},
                 {"outputs", ports(file.graph->outputs(), &file.graph->output_names())},
                 {"operators", operators},
                 {"nodes", a.num_nodes},
                 {"parameters", a.parameters},
                 {"weight_bytes", a.weight_bytes},
                 {"problems", problems}};
  answer.text = fmt::format("format      {} {}\n", file.format, file.producer);
  for (const auto& [domain, v] : file.opsets)
    answer.text += fmt::format("opset       {} {}\n", domain.empty() ? "default" : domain, v);
  answer.text +=
      port_lines("input", answer.json["inputs"]) + port_lines("output", answer.json["outputs"]);
  answer.text += fmt::format("nodes       {}\nparameters  {} ({:.1f} MB)\n", a.num_nodes,
                             a.parameters, static_cast<double>(a.weight_bytes) / 1e6);
  for (const auto& w : a.operators)
    answer.text += fmt::format("operator    {:5} x {}\n", w.count, w.op);
  for (const Json& p : problems) answer.text += "note        " + p.get<std::string>() + "\n";
  return answer;
}

Result<std::map<std::string, Dims>> named_sizes(const Options& options, const Graph& graph) {
  std::vector<NamedShape> shapes = options.shapes;
  std::vector<std::string> names;
  for (const Value* v : graph.inputs()) names.push_back(v->name());
  TENON_TRY(resolve_names(shapes, names, "--shape"));
  std::map<std::string, Dims> sizes;
  for (const NamedShape& s : shapes) sizes[s.name] = s.dims;
  return sizes;
}

// Operators that neither have a kernel on the backend nor decompose into ones that do.
Json unsupported(const Graph& graph, const Backend& backend) {
  std::map<std::string, std::pair<int, std::string>> left;
  for (const Node* n : graph.nodes()) {
    if (n->op().decompose || n->op().has(Trait::control_flow) || n->op().has(Trait::view)) continue;
    if (Verdict v = backend.supports(*n); !v) {
      auto& [count, reason] = left[std::string(n->op().name)];
      ++count;
      reason = v.reason;
    }
  }
  Json out = Json::array();
  for (const auto& [op, why] : left)
    out.push_back({{"op", op},
                   {"count", why.first},
                   {"reason", why.second},
                   {"remedy", "the interpreter runs it"}});
  return out;
}

Result<Answer> analyze(const Options& options, Context& context) {
  migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  const auto sizes = TENON_TRY(named_sizes(options, *file.graph));
  const Bindings bindings = TENON_TRY(migrate::choose_sizes(*file.graph, sizes));
  const migrate::Analysis a = migrate::analyze(*file.graph, bindings);
  const Backend* backend = TENON_TRY(engine::backend_named(context.options.backend));
  Answer answer;
  Json rows = Json::array();
  for (const auto& w : a.operators)
    rows.push_back({{"op", w.op}, {"count", w.count}, {"flops", w.flops}, {"bytes", w.bytes}});
  answer.json = {{"schema", "tenon.analyze/1"},
                 {"flops", a.flops},
                 {"bytes", a.bytes},
                 {"arithmetic_intensity", a.intensity()},
                 {"parameters", a.parameters},
                 {"weight_bytes", a.weight_bytes},
                 {"sizes", bindings},
                 {"nodes_of_unknown_size", a.num_unknown},
                 {"unsupported", unsupported(*file.graph, *backend)},
                 {"operators", rows}};
  auto inputs = migrate::invent_inputs(*file.graph, sizes, context.options.seed);
  auto planned = engine::compile(std::move(file.graph), **engine::backend_named("null"), {});
  Json peak;
  if (inputs.ok() && planned.ok())
    if (auto memory = (*planned)->memory(*inputs); memory.ok()) peak = memory->arena_bytes;
  answer.json["peak_memory_bytes"] = peak;
  answer.text = fmt::format("work        {:.3f} GFLOP, {:.1f} MB moved, {:.1f} FLOP a byte\n",
                            a.flops / 1e9, a.bytes / 1e6, a.intensity());
  for (const auto& [symbol, size] : bindings)
    answer.text += fmt::format("size        {} = {}\n", symbol, size);
  if (!peak.is_null())
    answer.text += fmt::format("activations {:.1f} MB at the peak\n", peak.get<double>() / 1e6);
  for (const auto& w : a.operators)
    answer.text += fmt::format("{:<22} {:5} x {:10.4f} GFLOP {:10.2f} MB\n", w.op, w.count,
                               w.flops / 1e9, w.bytes / 1e6);
  for (const Json& u : answer.json["unsupported"])
    answer.text += fmt::format("interpreted {} ({} x): {}\n", u["op"].get<std::string>(),
                               u["count"].get<int>(), u["reason"].get<std::string>());
  return answer;
}

template <Result<Answer> (*work)(const Options&, Context&), bool with_shapes>
Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model file")->required();
  if constexpr (with_shapes) add_named_shapes(app, "--shape", options->shapes, "sizes of an input");
  return [options](Context& context) { return work(*options, context); };
}

}  // namespace

Command inspect_command() {
  return {.name = "inspect",
          .summary = "what is in a model file",
          .examples = {"tenon inspect model.onnx", "tenon inspect model.onnx --json"},
          .declare = declare<inspect, false>};
}

Command analyze_command() {
  return {.name = "analyze",
          .summary = "operators, work and memory of a model",
          .examples = {"tenon analyze model.onnx --shape x=1,3,224,224"},
          .declare = declare<analyze, true>};
}

}  // namespace tenon::cli
