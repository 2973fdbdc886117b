// Passes, then one kernel per node, regions first.
#include "tenon/engine/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "tenon/backends/cpu/cpu_backend.h"
#include "tenon/backends/null/null_backend.h"
#include "tenon/backends/reference/reference_backend.h"
#include "tenon/engine/late_kernel.h"

namespace tenon::engine {
namespace {

Result<std::unique_ptr<Executable>> assemble(std::unique_ptr<Graph> graph, const Backend& backend,
                                             CompileReport& report) {
  std::vector<CompiledNode> nodes;
  std::map<const Graph*, std::unique_ptr<Executable>> regions;
  for (const Node* node : graph->nodes()) {
    CompiledNode compiled{node, nullptr, {}};
    if (Verdict v = backend.supports(*node); v)
      compiled.kernel = TENON_TRY_AT(node->place(), backend.compile(*node));
    else if (backend.name() == "cpu" && waits_for_sizes(*node))
      compiled.kernel = late_kernel(*node, backend);
    else
      compiled.fallback_reason = v.reason;
    if (!compiled.kernel)
      for (const auto& r : node->regions())
        regions.emplace(r.get(),
                        TENON_TRY_AT(node->place(), assemble(r->clone(), backend, report)));
    const std::string label = node->name().empty() ? std::string(node->op().name) : node->name();
    if (compiled.kernel)
      report.mapping.emplace_back(label, compiled.kernel->describe());
    else if (node->op().name == "fused" ||
             (!node->op().has(Trait::control_flow) && !node->op().has(Trait::view)))
      report.fallbacks.push_back({label, std::string(node->op().name), compiled.fallback_reason});
    nodes.push_back(std::move(compiled));
  }
  return std::make_unique<Executable>(std::move(graph), std::move(nodes), std::move(regions));
}

std::vector<int> positions(const Graph& graph) {
  std::vector<int> position(static_cast<std::size_t>(graph.num_node_ids()), 0);
  int at = 0;
  for (const Node* n : graph.nodes()) position[static_cast<std::size_t>(n->id())] = at++;
  return position;
}

// Passes may leave a reader of a donated input behind the node that writes over it. That node, and
// what follows from it until there, moves behind the reader, unless the reader follows from it,
// too.
void order_writers(Graph& graph, const std::vector<Donation>& donations) {
  for (const Donation& d : donations) {
    Node* writer = graph.outputs()[static_cast<std::size_t>(d.output)]->producer();
    if (!writer) continue;
    const auto position = positions(graph);
    const auto place = [&](const Node* n) { return position[static_cast<std::size_t>(n->id())]; };
    Node* last = writer;
    for (const Value::Use& u : graph.inputs()[static_cast<std::size_t>(d.input)]->uses())
      if (place(u.node) > place(last)) last = u.node;
    if (last == writer) continue;
    std::vector<Node*> moved;
    std::set<const Node*> follows = {writer};
    for (Node* n = writer; n != last->next(); n = n->next()) {
      const bool is_moved =
          n == writer || std::any_of(n->inputs().begin(), n->inputs().end(), [&](const Value* v) {
            return v && v->producer() && follows.contains(v->producer());
          });
      if (!is_moved) continue;
      follows.insert(n);
      moved.push_back(n);
    }
    if (follows.contains(last)) continue;
    Node* behind = last->next();
    for (Node* n : moved) graph.move_before(n, behind);
  }
}

int count_nodes(const Graph& graph) {
  int n = 0;
  for (const Node* node : graph.nodes()) {
    ++n;
    for (const auto& r : node->regions()) n += count_nodes(*r);
  }
  return n;
}

}  // namespace

std::vector<std::string_view> backend_names() { return {"cpu", "reference", "null"}; }

Result<const Backend*> backend_named(std::string_view name) {
  static const std::array<std::unique_ptr<Backend>, 3> backends = {
      backends::cpu_backend(), backends::reference_backend(), backends::null_backend()};
  for (const auto& b : backends)
    if (b->name() == name) return b.get();
  return not_found("no backend is named '{}'", name).with_help("use cpu, reference or null");
}

Result<std::unique_ptr<Executable>> compile(std::unique_ptr<Graph> graph, const Backend& backend,
                                            const CompileOptions& options, CompileReport* report) {
  const auto start = std::chrono::steady_clock::now();
  CompileReport local;
  CompileReport& r = report ? *report : local;
  r.num_nodes_before = count_nodes(*graph);
  passes::PassContext context;
  context.backend = &backend;
  context.donor = graph.get();
  for (const Donation& d : options.donations) context.donated_outputs.push_back(d.output);
  const bool interprets = backend.name() == "reference";  // the oracle runs the graph as it is
  if (!interprets && !options.is_final) {
    const auto pipeline = options.optimize ? passes::inference_pipeline()
                                           : std::vector<std::string_view>{"legalize", "dead_code"};
    r.passes = TENON_TRY(passes::run_passes(*graph, pipeline, context, options.disabled_passes));
  }
  order_writers(*graph, options.donations);
  r.num_nodes_after = count_nodes(*graph);
  auto executable = TENON_TRY(assemble(std::move(graph), backend, r));
  executable->set_donations(options.donations);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return executable;
}

}  // namespace tenon::engine
