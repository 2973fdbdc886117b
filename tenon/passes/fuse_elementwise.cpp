// fuse_elementwise: chains of elementwise operators become one fused node.
//
// A group grows backwards from a root: an operand joins when it is elementwise, has the root's
// shape and is read inside the group only. Each group computes one result, so no element is
// computed twice.
#include <algorithm>
#include <map>
#include <set>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
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

// The group's nodes move into the region of one `fused` node in front of the root.
void fuse(Graph& graph, const Group& group) {
  auto region = std::make_unique<Graph>("fused");
  GraphBuilder inner(*region, ops::table());
  std::map<const Value*, Value*> map;
  Values inputs;
  for (const Node* n : group.nodes)
    for (Value* v : n->inputs()) {
      if (!v || map.contains(v)) continue;
      if (v->is_constant() && v->tensor().count() == 1) {
        map[v] = region->add_constant(v->name(), v->tensor());
        continue;
      }
      if (std::any_of(group.nodes.begin(), group.nodes.end(),
                      [&](const Node* m) { return m->output(0) == v; }))
        continue;
      map[v] = region->add_input(v->name(), v->type());
      inputs.push_back(v);
    }
  for (const Node* n : group.nodes) {
    Values args;
    for (const Value* v : n->inputs()) args.push_back(v ? map.at(v) : nullptr);
    inner.set_origin(n->name(), n->origin());
    map[n->output(0)] = inner.call(n->op(), std::move(args), n->attrs())[0];
  }
  Node* root = group.nodes.back();
  region->add_output(map.at(root->output(0)), "y");
  TENON_CHECK(inner.status().ok(), "a fused group no longer infers: {}",
              inner.status().error().text());
  GraphBuilder outer(graph, ops::table(), root);
  outer.set_origin(root->name(), root->origin());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region));
  Value* y = outer.call(outer.op("fused"), inputs, {}, std::move(regions))[0];
  y->set_name(root->output(0)->name());
  y->set_type(root->output(0)->type());
  graph.replace_uses(root->output(0), y);
  for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) graph.erase(*it);
}

}  // namespace

Result<int> fuse_elementwise(Graph& graph, const PassContext&) {
  if (graph.name() == "fused") return 0;  // the inside of a group is final
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
  for (const Group& g : groups) fuse(graph, g);
  return static_cast<int>(groups.size());
}

}  // namespace tenon::passes
