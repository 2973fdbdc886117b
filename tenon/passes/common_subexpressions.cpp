// common_subexpressions: one node for equal computations.
#include <map>

#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

struct Key {
  const Operator* op;
  std::vector<int> inputs;  // value ids; -1 for absent
  friend auto operator<=>(const Key&, const Key&) = default;
};

Key key_of(const Node& node) {
  Key key{&node.op(), {}};
  for (const Value* v : node.inputs()) key.inputs.push_back(v ? v->id() : -1);
  if (node.op().has(Trait::commutative) && key.inputs.size() == 2 && key.inputs[1] < key.inputs[0])
    std::swap(key.inputs[0], key.inputs[1]);
  return key;
}

bool may_share(const Node& node) {
  return node.regions().empty() && !node.op().has(Trait::random) &&
         !node.op().has(Trait::collective);
}

// Small equal constants become one, so that what reads them can be seen to be equal.
int share_constants(Graph& graph) {
  constexpr std::size_t kSmall = 256;
  std::map<std::string, Value*> seen;
  int shared = 0;
  for (Value* v : graph.constants()) {
    const Tensor& t = v->tensor();
    if (t.dtype() == DType::string || t.bytes() > kSmall || v->trainable || v->uses().empty())
      continue;
    std::string key = fmt::format("{}{}:", name(t.dtype()), to_text(t.dims()));
    key.append(reinterpret_cast<const char*>(t.raw()), t.bytes());
    auto [it, fresh] = seen.try_emplace(std::move(key), v);
    if (fresh) continue;
    graph.replace_uses(v, it->second);
    ++shared;
  }
  return shared;
}

}  // namespace

Result<int> common_subexpressions(Graph& graph, const PassContext&) {
  int shared = share_constants(graph);
  std::multimap<Key, Node*> seen;
  for (Node* node : graph.nodes()) {
    if (!may_share(*node)) continue;
    Node* twin = nullptr;
    auto [first, last] = seen.equal_range(key_of(*node));
    for (auto it = first; it != last && !twin; ++it)
      if (it->second->attrs() == node->attrs() &&
          it->second->outputs().size() == node->outputs().size())
        twin = it->second;
    if (!twin) {
      seen.emplace(key_of(*node), node);
      continue;
    }
    for (std::size_t i = 0; i < node->outputs().size(); ++i)
      graph.replace_uses(node->output(static_cast<int>(i)), twin->output(static_cast<int>(i)));
    graph.erase(node);
    ++shared;
  }
  return shared;
}

}  // namespace tenon::passes
