// Scopes, input sizes and the order of nodes.
#include <algorithm>
#include <queue>
#include <unordered_set>

#include "tenon/formats/onnx/importer_internal.h"
#include "tenon/formats/onnx/names_internal.h"

namespace tenon::onnx {
namespace {

std::string_view metadata_of(const NodeProto& node, std::string_view key) {
  for (const auto& [k, v] : node.metadata)
    if (k == key) return v;
  return {};
}

// "['', 'encoder', 'encoder.layer.0', 'linear']": the last but one names the module, the last the
// call.
std::string innermost_module(std::string_view list) {
  std::vector<std::string_view> items;
  while (true) {
    const auto open = list.find('\'');
    const auto close = open == list.npos ? list.npos : list.find('\'', open + 1);
    if (close == list.npos) break;
    items.push_back(list.substr(open + 1, close - open - 1));
    list.remove_prefix(close + 1);
  }
  if (items.size() < 2) return {};
  std::string path(items[items.size() - 2]);
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

}  // namespace

std::string scope_of(const NodeProto& node, std::string_view label) {
  if (const auto scopes = metadata_of(node, "pkg.torch.onnx.name_scopes"); !scopes.empty())
    if (std::string module = innermost_module(scopes); !module.empty()) return module;
  while (label.starts_with('/')) label.remove_prefix(1);
  const auto cut = label.rfind('/');
  return cut == label.npos ? std::string() : std::string(label.substr(0, cut));
}

std::string node_label(const NodeProto& node) {
  if (!node.name.empty()) return std::string(node.name);
  for (std::string_view output : node.outputs)
    if (!output.empty()) return std::string(output);
  return std::string(node.op_type);
}

Result<Type> input_type(std::string_view name, Type declared, const ReadOptions& options) {
  const auto it = options.shapes.find(std::string(name));
  if (it == options.shapes.end()) return declared;
  if (!declared.is_tensor())
    return invalid("a shape is given for '{}', which is {}", name, declared.text());
  const Dims& given = it->second;
  if (declared.ranked() && declared.ndim() != static_cast<int>(given.size()))
    return invalid("the shape {} is given for '{}', which is {}", to_text(given), name,
                   declared.text());
  Shape shape;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] >= 0)
      shape.emplace_back(given[i]);
    else
      shape.push_back(declared.ranked() ? declared.dim(static_cast<int>(i))
                                        : Dim::symbol(fmt::format("{}_d{}", name, i)));
  }
  return Type(declared.dtype(), std::move(shape));
}

void collect_free_names(const GraphProto& g, std::vector<std::string_view>& out) {
  std::unordered_set<std::string_view> own;
  for (const ValueInfoProto& v : g.inputs) own.insert(v.name);
  for (const TensorProto& t : g.initializers) own.insert(t.name);
  for (const SparseTensorProto& t : g.sparse_initializers) own.insert(t.values.name);
  for (const NodeProto& n : g.nodes) own.insert(n.outputs.begin(), n.outputs.end());
  std::vector<std::string_view> used;
  for (const NodeProto& n : g.nodes) {
    used.insert(used.end(), n.inputs.begin(), n.inputs.end());
    for (const AttributeProto& a : n.attributes)
      for (const auto& inner : a.graphs) collect_free_names(*inner, used);
  }
  for (const ValueInfoProto& v : g.outputs) used.push_back(v.name);
  for (std::string_view name : used)
    if (!name.empty() && !own.contains(name)) out.push_back(name);
}

// ---- order: every node after those that make its inputs; the file's order where that is free ----

namespace {

std::vector<std::string_view> names_needed(const NodeProto& n) {
  std::vector<std::string_view> needed = n.inputs;
  for (const AttributeProto& a : n.attributes)
    for (const auto& g : a.graphs) collect_free_names(*g, needed);
  return needed;
}

}  // namespace

std::vector<int> Importer::order(const std::vector<NodeProto>& nodes, const Frame* frame) {
  std::unordered_map<std::string_view, int> producer;
  const int n = static_cast<int>(nodes.size());
  for (int i = 0; i < n; ++i)
    for (std::string_view name : nodes[static_cast<std::size_t>(i)].outputs)
      if (!name.empty()) producer.emplace(name, i);
  std::vector<std::vector<int>> users(nodes.size());
  std::vector<int> waits_for(nodes.size(), 0);
  bool sorted = true;
  for (int i = 0; i < n; ++i)
    for (std::string_view name : names_needed(nodes[static_cast<std::size_t>(i)])) {
      const auto it = producer.find(name);
      if (it == producer.end()) continue;
      users[static_cast<std::size_t>(it->second)].push_back(i);
      ++waits_for[static_cast<std::size_t>(i)];
      sorted &= it->second < i;
    }
  std::vector<int> result;
  if (sorted) {
    for (int i = 0; i < n; ++i) result.push_back(i);
    return result;
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < n; ++i)
    if (waits_for[static_cast<std::size_t>(i)] == 0) ready.push(i);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    result.push_back(i);
    for (int user : users[static_cast<std::size_t>(i)])
      if (--waits_for[static_cast<std::size_t>(user)] == 0) ready.push(user);
  }
  std::vector<int> waiting;
  for (int i = 0; i < n; ++i)
    if (waits_for[static_cast<std::size_t>(i)] > 0) waiting.push_back(i);
  if (!waiting.empty()) report_cycle(nodes, waiting, frame);
  return result;
}

// Walks back from a waiting node over producers that wait too until a node comes again.
void Importer::report_cycle(const std::vector<NodeProto>& nodes, const std::vector<int>& waiting,
                            const Frame*) {
  std::unordered_map<std::string_view, int> producer;
  for (int i : waiting)
    for (std::string_view name : nodes[static_cast<std::size_t>(i)].outputs)
      producer.emplace(name, i);
  std::vector<int> path, seen_at(nodes.size(), -1);
  int at = waiting.front();
  while (seen_at[static_cast<std::size_t>(at)] < 0) {
    seen_at[static_cast<std::size_t>(at)] = static_cast<int>(path.size());
    path.push_back(at);
    for (std::string_view name : names_needed(nodes[static_cast<std::size_t>(at)]))
      if (auto it = producer.find(name); it != producer.end()) {
        at = it->second;
        break;
      }
  }
  std::string text;
  constexpr std::size_t kShown = 8;
  for (std::size_t k = static_cast<std::size_t>(seen_at[static_cast<std::size_t>(at)]);
       k < path.size(); ++k) {
    if (k >= static_cast<std::size_t>(seen_at[static_cast<std::size_t>(at)]) + kShown) {
      text += " <- ...";
      break;
    }
    text += (text.empty() ? "" : " <- ") + node_label(nodes[static_cast<std::size_t>(path[k])]);
  }
  const NodeProto& first = nodes[static_cast<std::size_t>(at)];
  report(invalid("{} nodes wait for each other: {}", waiting.size(), text)
             .with_help("a graph without cycles is needed; the exporter wrote a broken file"),
         fmt::format("node {}, {} #{}", node_label(first), file_, first.index));
}

}  // namespace tenon::onnx
