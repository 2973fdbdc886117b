// fuse_elementwise: chains of elementwise operators become one fused node.
//
// A group grows backwards from a root: an operand joins when it is elementwise, has the root's
// shape and is read inside the group only. Each group computes one result, so no element is
// computed twice.
#include <algorithm>
#include <map>
#include <set>

#include "tenon/ops/registry.h"
#include "tenon/passes/fused_group.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

constexpr std::size_t kMaxGroup = 64;  // nodes; keeps kernels and their compile time small

bool fusible(const Node& node) {
  const auto number = [](const Value* v) {
    return !v || (v->type().is_tensor() && v->type().dtype() != DType::string &&
                  !is_complex(v->type().dtype()));
  };
  return node.op().has(Trait::elementwise) && node.outputs().size() == 1 &&
         node.output(0)->type().ranked() && number(node.output(0)) &&
         std::all_of(node.inputs().begin(), node.inputs().end(), number);
}

struct Group {
  std::vector<Node*> nodes;  // in execution order, the root last
};

bool read_inside_only(const Value* v, const std::set<const Node*>& inside) {
  return std::all_of(v->uses().begin(), v->uses().end(),
                     [&](const Value::Use& u) { return inside.contains(u.node); });
}

// Candidates are visited from the last to the first, so that every reader of one has been decided.
Group grow(Node* root, const std::vector<int>& position, const std::vector<bool>& is_output,
           const std::set<const Node*>& taken) {
  std::set<const Node*> inside = {root};
  std::map<int, Node*, std::greater<>> candidates;
  const auto offer_operands = [&](const Node* n) {
    for (const Value* v : n->inputs())
      if (v && v->producer())
        candidates.emplace(position[static_cast<std::size_t>(v->producer()->id())], v->producer());
  };
  const Shape& shape = root->output(0)->type().shape();
  Group group{{root}};
  offer_operands(root);
  while (!candidates.empty() && group.nodes.size() < kMaxGroup) {
    Node* n = candidates.begin()->second;
    candidates.erase(candidates.begin());
    if (!fusible(*n) || taken.contains(n)) continue;
    const Value* v = n->output(0);
    if (is_output[static_cast<std::size_t>(v->id())] || !(v->type().shape() == shape) ||
        !read_inside_only(v, inside))
      continue;
    inside.insert(n);
    group.nodes.push_back(n);
    offer_operands(n);
  }
  std::reverse(group.nodes.begin(), group.nodes.end());
  return group;
}

}  // namespace

Result<int> fuse_elementwise(Graph& graph, const PassContext&) {
  std::vector<bool> is_output(static_cast<std::size_t>(graph.num_value_ids()), false);
  for (const Value* v : graph.outputs()) is_output[static_cast<std::size_t>(v->id())] = true;
  std::vector<int> position(static_cast<std::size_t>(graph.num_node_ids()), 0);
  int at = 0;
  for (const Node* node : graph.nodes()) position[static_cast<std::size_t>(node->id())] = at++;
  std::set<const Node*> taken;
  std::vector<Group> groups;
  for (Node* node = graph.last(); node; node = node->previous()) {
    if (!fusible(*node) || taken.contains(node)) continue;
    Group group = grow(node, position, is_output, taken);
    if (group.nodes.size() < 2) continue;
    taken.insert(group.nodes.begin(), group.nodes.end());
    groups.push_back(std::move(group));
  }
  for (const Group& g : groups) {
    const Values results = {g.nodes.back()->output(0)};
    replace_by_fused(graph, make_fused(graph, g.nodes, results, g.nodes.back()), g.nodes, results);
  }
  return static_cast<int>(groups.size());
}

}  // namespace tenon::passes
