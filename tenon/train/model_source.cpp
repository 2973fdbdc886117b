// Files to graphs with named, trainable weights and inputs named as the samples' fields.
#include "tenon/train/model_source.h"

#include <algorithm>
#include <set>

#include "tenon/base/file.h"
#include "tenon/base/object_reader.h"
#include "tenon/formats/checkpoint/checkpoint.h"
#include "tenon/formats/onnx/read.h"
#include "tenon/ir/text.h"
#include "tenon/ops/registry.h"

namespace tenon::train {
namespace fs = std::filesystem;
namespace {

Result<std::unique_ptr<Graph>> open_graph(const fs::path& path) {
  std::error_code e;
  if (!fs::exists(path, e)) return not_found("there is no model at this path").at(path.string());
  if (fs::is_directory(path, e)) return std::move(TENON_TRY(checkpoint::read(path, false)).model);
  const std::string start =
      TENON_TRY_AT(path.string(), MappedFile::open(path))->size() >= 7
          ? std::string(TENON_TRY(MappedFile::open(path))->text().substr(0, 7))
          : "";
  if (start == "graph \"") return parse_graph(TENON_TRY(read_file(path)), ops::table());
  onnx::ReadOptions options;
  options.free_batch = true;
  return std::move(TENON_TRY(onnx::read(path, options)).graph);
}

// Weights that no name tells apart get the number of their value.
void name_constants(Graph& graph) {
  std::set<std::string> seen;
  for (Value* v : graph.constants())
    if (v->name().empty() || !seen.insert(v->name()).second) {
      v->set_name(fmt::format("{}#{}", v->name().empty() ? "constant" : v->name(), v->id()));
      seen.insert(v->name());
    }
}

Status choose_weights(Graph& graph, const std::vector<std::string>& patterns) {
  std::vector<bool> used(patterns.size(), false);
  bool any = false;
  for (Value* v : graph.constants()) {
    const Tensor& t = v->tensor();
    if (t.dtype() != DType::f32 || t.ndim() < 1) continue;
    v->trainable = patterns.empty();
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (matches(patterns[i], v->name())) v->trainable = used[i] = true;
    any = any || v->trainable;
  }
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (!used[i]) return not_found("no f32 weight of the model is named {}", patterns[i]);
  if (!any) return invalid("the model has no f32 weight to train");
  return {};
}

Status rename_inputs(Graph& graph, const Json* names, const models::ModelRequest& request) {
  const auto input_named = [&](const std::string& name) -> Value* {
    for (Value* v : graph.inputs())
      if (v->name() == name) return v;
    return nullptr;
  };
  if (names && names->is_object())
    for (const auto& [field, input] : names->items()) {
      Value* v = input.is_string() ? input_named(input.get<std::string>()) : nullptr;
      if (!v) return not_found("the model has no input {}", input.dump());
      v->set_name(field);
    }
  else if (graph.inputs().size() == 1 && !request.fields.empty())
    graph.inputs()[0]->set_name(request.fields[0].name);
  return {};
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t skip = 0; skip <= name.size(); ++skip)
    if (matches(rest, name.substr(skip))) return true;
  return false;
}

Result<std::unique_ptr<Graph>> open_or_build_model(const Json& section,
                                                   const models::ModelRequest& request,
                                                   const fs::path& folder) {
  if (section.value("kind", "") != "file") return models::build_model(section, request);
  std::vector<Error> problems;
  ObjectReader r(section, request.where, problems);
  std::string path, kind;
  std::vector<std::string> patterns;
  r.text("kind", kind);
  r.require("path");
  r.text("path", path);
  r.texts("train", patterns);
  const Json* names = r.child("rename");
  r.finish();
  if (!problems.empty()) return all_of(std::move(problems));
  std::error_code e;
  const fs::path below = folder / path;
  auto graph = TENON_TRY(open_graph(fs::exists(below, e) ? below : fs::path(path)));
  name_constants(*graph);
  TENON_TRY_AT(request.where, choose_weights(*graph, patterns));
  TENON_TRY_AT(request.where, rename_inputs(*graph, names, request));
  return graph;
}

}  // namespace tenon::train
