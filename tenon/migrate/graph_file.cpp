// Graph files and their weights.
#include "tenon/migrate/graph_file.h"

#include <map>

#include "tenon/base/file.h"
#include "tenon/base/safetensors.h"
#include "tenon/ir/graph_json.h"
#include "tenon/ops/registry.h"

namespace tenon::migrate {
namespace {

// Gives every large constant of the graph and its regions a key.
void collect(const Graph& graph, NamedTensors& tensors, std::map<const Value*, std::string>& keys) {
  for (const Value* v : graph.constants()) {
    if (v->tensor().dtype() == DType::string || v->tensor().count() <= TextOptions().max_inline)
      continue;
    keys[v] = fmt::format("w{}", tensors.size());
    tensors.emplace_back(keys[v], v->tensor());
  }
  for (const Node* n : graph.nodes())
    for (const auto& r : n->regions()) collect(*r, tensors, keys);
}

}  // namespace

std::optional<GraphForm> graph_form(std::string_view start) {
  const std::size_t at = start.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos) return std::nullopt;
  if (start.substr(at).starts_with("graph \"")) return GraphForm::text;
  // An ONNX file begins with the tag of a small field, which is no printable character.
  if (start[at] == '{') return GraphForm::json;
  return std::nullopt;
}

std::filesystem::path weights_beside(const std::filesystem::path& path) {
  std::filesystem::path beside = path;
  beside += ".safetensors";
  return beside;
}

Status write_graph_file(const Graph& graph, const std::filesystem::path& path, GraphForm form) {
  NamedTensors tensors;
  std::map<const Value*, std::string> keys;
  collect(graph, tensors, keys);
  TextOptions options;
  options.key = [&](const Value& v) { return keys.at(&v); };
  const std::string text = form == GraphForm::text ? to_text(graph, options)
                                                   : write_json(to_json(graph, options), 1) + "\n";
  if (!tensors.empty()) TENON_TRY(write_safetensors(weights_beside(path), tensors));
  return write_file_atomic(path, text);
}

Result<std::unique_ptr<Graph>> read_graph_file(const std::filesystem::path& path, GraphForm form) {
  std::optional<Safetensors> weights;
  const TensorSource source = [&](std::string_view key) -> Result<Tensor> {
    if (!weights) {
      auto opened = Safetensors::open(weights_beside(path));
      if (!opened.ok())
        return std::move(opened).error().with_help(
            "a graph file's large constants lie beside it, in " +
            weights_beside(path).filename().string());
      weights = std::move(*opened);
    }
    return weights->tensor(key);
  };
  const auto here = [&] { return path.string(); };
  if (form == GraphForm::text) {
    const std::string text = TENON_TRY(read_file(path));
    return placed(parse_graph(text, ops::table(), source), here);
  }
  const Json json = TENON_TRY(placed(read_json(path), here));
  return placed(graph_from_json(json, ops::table(), source), here);
}

}  // namespace tenon::migrate
