// The stages of a migration, in order.
#include "tenon/migrate/migration.h"

#include <algorithm>
#include <chrono>

#include "tenon/base/file.h"
#include "tenon/migrate/invent.h"

namespace tenon::migrate {
namespace {

void count_operators(const Graph& graph, std::map<std::string, int>& counts) {
  for (const Node* n : graph.nodes()) {
    ++counts[std::string(n->op().name)];
    for (const auto& r : n->regions()) count_operators(*r, counts);
  }
}

NamedTensors named(const Graph& graph, const Datums& inputs) {
  NamedTensors out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_tensor()) out.emplace_back(graph.inputs()[i]->name(), inputs[i].tensor());
  return out;
}

// Layer by layer against ONNX Runtime on the original file.
void compare_with_original(Migration& m, const std::filesystem::path& model, const Session& session,
                           const Datums& inputs, ThreadPool& pool, std::string_view precision) {
  if (session.format != "onnx") {
    m.accuracy_missing = "the original is no ONNX file, so ONNX Runtime cannot run it";
    return;
  }
  auto layers = peer_layers(model, named(session.executable->graph(), inputs));
  if (!layers.ok()) {
    m.accuracy_missing = layers.error().message;
    return;
  }
  auto observed = observe(*session.executable, inputs, pool);
  if (!observed.ok()) {
    m.accuracy_missing = observed.error().text();
    return;
  }
  m.accuracy = compare(*observed, layers->values, session.output_names, tolerance_for(precision));
  m.accuracy->left = "cpu";
  m.accuracy->right = layers->engine;
}

void time_peers(Migration& m, const std::filesystem::path& model, const Session& session,
                const Datums& inputs, const MigrateOptions& options) {
  for (const char* engine : {"onnxruntime", "openvino"}) {
    if (session.format != "onnx") {
      m.missing_peers.push_back(fmt::format("{}: the original is no ONNX file", engine));
      continue;
    }
    auto bench = peer_bench(engine, model, named(session.executable->graph(), inputs),
                            options.threads, options.seconds);
    if (bench.ok())
      m.peers.push_back(*bench);
    else
      m.missing_peers.push_back(fmt::format("{}: {}", engine, bench.error().message));
  }
}

Status write(Migration& m, const Session& session, const std::filesystem::path& folder,
             const MigrateOptions& options) {
  BundleContent content;
  content.executable = session.executable.get();
  content.backend = options.target;
  content.precision = options.precision;
  content.source = {{"model", std::filesystem::path(m.model).filename().string()},
                    {"format", session.format}};
  content.files["report.html"] = m.html();
  content.files["report.json"] = m.json().dump(1) + "\n";
  if (!options.recipe.empty()) content.files["recipe.toml"] = TENON_TRY(read_file(options.recipe));
  return write_bundle(folder, content);
}

}  // namespace

Result<Migration> migrate_model(const std::filesystem::path& model,
                                const std::filesystem::path& folder, const MigrateOptions& options,
                                const std::function<void(std::string_view)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  Migration m;
  m.model = model.string();
  m.bundle = folder;
  progress("reading");
  {
    const ModelFile file = TENON_TRY(open_model(model));
    count_operators(*file.graph, m.operators_before);
  }
  progress("compiling");
  SessionOptions open;
  open.backend = options.target;
  Session session = TENON_TRY(open_session(model, open));
  m.compile = session.compile;
  m.notes = session.notes;
  m.fusions = fusions_of(session.executable->graph(), m.compile);
  const Datums inputs =
      TENON_TRY(invent_inputs(session.executable->graph(), options.shapes, options.seed));
  ThreadPool pool(options.threads);
  progress("running");
  m.latency = TENON_TRY(measure(*session.executable, inputs, pool, options.seconds, 2));
  for (const Executable::Declined& d : session.executable->declined())
    m.compile.fallbacks.push_back({d.node, d.op, d.reason});
  m.peak_memory_bytes = peak_resident_bytes();
  if (auto memory = session.executable->memory(inputs); memory.ok())
    m.memory = *memory;
  else
    m.memory_missing = memory.error().message;
  if (options.compares) {
    progress("comparing with the original");
    compare_with_original(m, model, session, inputs, pool, options.precision);
    progress("timing other engines");
    time_peers(m, model, session, inputs, options);
  } else {
    m.accuracy_missing = "not asked for";
  }
  m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress("writing the bundle");
  TENON_TRY(write(m, session, folder, options));
  return m;
}

}  // namespace tenon::migrate
