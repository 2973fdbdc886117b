// Regions made of nodes of the graph around them.
#include "tenon/passes/fused_group.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"

namespace tenon::passes {
namespace {

// Shapes and axes stay known inside of the region.
std::optional<std::vector<Dim>> contents_of(const Value& v) {
  if (v.contents()) return *v.contents();
  if (!v.is_constant() || !is_integer(v.tensor().dtype()) || v.tensor().ndim() > 1 ||
      v.tensor().count() > 16)
    return std::nullopt;
  std::vector<Dim> out;
  for (std::int64_t i : to_int64s(v.tensor())) out.emplace_back(i);
  return out;
}

bool is_read(const Value* v) {
  const Values& outputs = v->graph()->outputs();
  return !v->uses().empty() || std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}

}  // namespace

Node* make_fused(Graph& graph, const std::vector<Node*>& nodes, const Values& outputs,
                 Node* before) {
  auto region = std::make_unique<Graph>("fused");
  GraphBuilder inner(*region, ops::table());
  std::map<const Value*, Value*> map;
  Values inputs;
  const auto is_inside = [&](const Value* v) {
    return std::find(nodes.begin(), nodes.end(), v->producer()) != nodes.end();
  };
  for (const Node* n : nodes)
    for (Value* v : n->inputs()) {
      if (!v || map.contains(v) || (v->producer() && is_inside(v))) continue;
      // A shape that is known stays known when the graph is read back from text.
      const bool is_shape = v->is_constant() && n->op().has(Trait::view) && contents_of(*v);
      if (is_shape || (v->is_constant() && v->tensor().count() == 1)) {
        map[v] = region->add_constant(v->name(), v->tensor());
        continue;
      }
      map[v] = region->add_input(v->name(), v->type());
      map[v]->set_contents(contents_of(*v));
      inputs.push_back(v);
    }
  for (const Node* n : nodes) {
    Values args;
    for (const Value* v : n->inputs()) args.push_back(v ? map.at(v) : nullptr);
    inner.set_origin(n->name(), n->origin());
    map[n->output(0)] = inner.call(n->op(), std::move(args), n->attrs())[0];
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    region->add_output(map.at(outputs[i]), i == 0 ? "y" : "y" + std::to_string(i));
  TENON_CHECK(inner.status().ok(), "a fused group no longer infers: {}",
              inner.status().error().text());
  GraphBuilder outer(graph, ops::table(), before);
  outer.set_origin(outputs[0]->producer()->name(), outputs[0]->producer()->origin());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region));
  const Values made = outer.call(outer.op("fused"), inputs, {}, std::move(regions));
  TENON_CHECK(outer.status().ok(), "a fused group does not infer: {}",
              outer.status().error().text());
  return made[0]->producer();
}

void replace_by_fused(Graph& graph, Node* fused, const std::vector<Node*>& nodes,
                      const Values& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value* y = fused->output(static_cast<int>(i));
    y->set_name(outputs[i]->name());
    y->set_type(outputs[i]->type());
    graph.replace_uses(outputs[i], y);
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it)
    if (std::none_of((*it)->outputs().begin(), (*it)->outputs().end(), is_read)) graph.erase(*it);
}

}  // namespace tenon::passes
