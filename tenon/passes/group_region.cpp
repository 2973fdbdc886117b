// The region is built by applying the nodes again on values of the region.
#include "tenon/passes/group_region.h"

#include <algorithm>
#include <map>

#include "tenon/passes/layout.h"

namespace tenon::passes {
namespace {

class RegionWriter {
 public:
  explicit RegionWriter(Graph& region) : region_(region), builder_(region, ops::table()) {}

  void add(const Node& node, const std::vector<Node*>& group) {
    const bool opened = node.op().name == "fused";
    for (Value* v : node.inputs()) take(v, node, group);
    if (opened) return add_parts(node);
    Values args;
    for (const Value* v : node.inputs()) args.push_back(v ? map_.at(v) : nullptr);
    builder_.set_origin(node.name(), node.origin());
    map_[node.output(0)] = builder_.call(node.op(), std::move(args), node.attrs())[0];
  }
  Value* at(const Value* v) const { return map_.at(v); }
  const Values& inputs() const { return inputs_; }
  const Status& status() const { return builder_.status(); }

 private:
  void take(Value* v, const Node& reader, const std::vector<Node*>& group) {
    if (!v || map_.contains(v)) return;
    const bool made_inside =
        std::any_of(group.begin(), group.end(), [&](const Node* n) { return n == v->producer(); });
    if (made_inside) return;
    if (v->is_constant() && v->tensor().count() == 1 && reader.op().has(Trait::elementwise)) {
      map_[v] = region_.add_constant(v->name(), v->tensor());
      return;
    }
    map_[v] = region_.add_input(v->name(), v->type());
    inputs_.push_back(v);
  }
  void add_parts(const Node& fused) {
    const Graph& parts = *fused.regions()[0];
    for (std::size_t i = 0; i < parts.inputs().size(); ++i)
      map_[parts.inputs()[i]] = map_.at(fused.inputs()[i]);
    for (const Value* v : parts.constants()) map_[v] = region_.add_constant(v->name(), v->tensor());
    for (const Node* n : parts.nodes()) {
      Values args;
      for (const Value* v : n->inputs()) args.push_back(v ? map_.at(v) : nullptr);
      builder_.set_origin(n->name(), n->origin());
      map_[n->output(0)] = builder_.call(n->op(), std::move(args), n->attrs())[0];
    }
    map_[fused.output(0)] = map_.at(parts.outputs()[0]);
  }

  Graph& region_;
  GraphBuilder builder_;
  std::map<const Value*, Value*> map_;
  Values inputs_;
};

}  // namespace

Value* fuse_nodes(Graph& graph, const std::vector<Node*>& nodes) {
  auto region = std::make_unique<Graph>("fused");
  RegionWriter writer(*region);
  for (const Node* n : nodes) writer.add(*n, nodes);
  Node* last = nodes.back();
  TENON_CHECK(writer.status().ok(), "a fused group no longer infers: {}",
              writer.status().error().text());
  region->add_output(writer.at(last->output(0)), "y");
  GraphBuilder outer(graph, ops::table(), last);
  outer.set_origin(last->name(), last->origin());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region));
  Value* y = outer.call(outer.op("fused"), writer.inputs(), {}, std::move(regions))[0];
  TENON_CHECK(outer.status().ok(), "a fused node does not infer: {}",
              outer.status().error().text());
  y->set_name(last->output(0)->name());
  y->set_type(last->output(0)->type());
  graph.replace_uses(last->output(0), y);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) graph.erase(*it);
  return y;
}

Value* run_channels_last(GraphBuilder& builder, const Node& node, Value* x) {
  const int ndim = x->type().ndim();
  auto region = std::make_unique<Graph>("fused");
  GraphBuilder inner(*region, ops::table());
  inner.set_origin(node.name(), node.origin());
  const auto transpose = [&](GraphBuilder& to, Value* v, const Perm& perm) {
    return to.call(to.op("transpose"), {v}, Attrs{{"perm", perm}})[0];
  };
  Values outer_args = {x}, args = {region->add_input(x->name(), x->type())};
  args[0] = transpose(inner, args[0], from_channels_last(ndim));
  for (std::size_t i = 1; i < node.inputs().size(); ++i) {
    Value* v = node.inputs()[i];
    args.push_back(v ? region->add_input(v->name(), v->type()) : nullptr);
    if (v) outer_args.push_back(v);
  }
  Value* y = inner.call(node.op(), args, node.attrs())[0];
  region->add_output(transpose(inner, y, to_channels_last(ndim)), "y");
  TENON_CHECK(inner.status().ok(), "{} no longer infers: {}", node.place(),
              inner.status().error().text());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region));
  Value* last = builder.call(builder.op("fused"), outer_args, {}, std::move(regions))[0];
  return transpose(builder, last, from_channels_last(ndim));
}

Node* only_reader(const Graph& graph, const Value* v) {
  if (v->uses().empty()) return nullptr;
  Node* reader = v->uses()[0].node;
  for (const Value::Use& u : v->uses())
    if (u.node != reader) return nullptr;
  const bool is_output =
      std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
  return is_output ? nullptr : reader;
}

}  // namespace tenon::passes
