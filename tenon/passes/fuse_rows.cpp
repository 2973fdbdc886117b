// fuse_rows: reductions over the same axes and the elementwise operators around them become one
// fused node: softmax, normalisations, means, and what gradients are made of, however a model
// writes them down.
//
//   y = (x - mean(x)) * rsqrt(mean((x - mean(x))^2) + eps) * s + b        one kernel, not nine
//
// A group grows from a reduction in both directions: elementwise operators whose result has the
// shape of what is reduced (a row value) or that shape with the folded axes at size 1 or gone (a
// value of each row), and further reductions over the same axes. It stays convex: nothing outside
// lies between two of its nodes.
#include <algorithm>
#include <set>

#include "tenon/ir/builder.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/fused_group.h"
#include "tenon/passes/updates.h"

namespace tenon::passes {
namespace {

constexpr std::size_t kMaxGroup = 64;   // nodes; keeps kernels and their compile time small
constexpr std::size_t kMaxResults = 4;  // values of a group that others read

bool is_number(const Value* v) {
  return !v || (v->type().is_tensor() && v->type().ranked() && v->type().dtype() != DType::string &&
                !is_complex(v->type().dtype()));
}

// The axes of a reduction that generated code knows, ascending; empty for other nodes.
std::vector<int> folded_axes(const Node& n) {
  const std::string_view name = n.op().name;
  if (name != "reduce_sum" && name != "reduce_max" && name != "reduce_min" && name != "reduce_prod")
    return {};
  if (!is_number(n.input(0)) || !is_floating(n.input(0)->type().dtype())) return {};
  auto axes = ops::reduced_axes(Call(n));
  if (!axes.ok() || !*axes) return {};
  std::sort((*axes)->begin(), (*axes)->end());
  return **axes;
}

class Grouper {
 public:
  Grouper(Graph& graph, const PassContext& context)
      : graph_(graph), updates_(update_nodes(graph, context)) {
    int at = 0;
    position_.assign(static_cast<std::size_t>(graph.num_node_ids()), 0);
    for (const Node* n : graph.nodes()) position_[static_cast<std::size_t>(n->id())] = at++;
    for (const Value* v : graph.outputs()) results_.insert(v);
  }

  // The group that grows from this reduction, in execution order; fewer than two nodes: none.
  std::vector<Node*> grow(Node* seed) {
    axes_ = folded_axes(*seed);
    full_ = seed->input(0)->type().shape();
    inside_ = {seed};
    for (bool changed = true; changed;) {
      changed = false;
      for (Node* n : std::vector<Node*>(inside_.begin(), inside_.end())) {
        for (Value* v : n->inputs())
          if (v && v->producer()) changed = offer(v->producer()) || changed;
        for (const Value::Use& u : n->output(0)->uses()) changed = offer(u.node) || changed;
      }
    }
    std::vector<Node*> nodes(inside_.begin(), inside_.end());
    std::sort(nodes.begin(), nodes.end(),
              [&](const Node* a, const Node* b) { return at(a) < at(b); });
    return nodes;
  }

  // Values of the group that others read.
  Values results_of(const std::vector<Node*>& nodes) const {
    Values out;
    for (const Node* n : nodes)
      if (is_read_outside(n->output(0))) out.push_back(n->output(0));
    std::stable_sort(out.begin(), out.end(), [&](const Value* a, const Value* b) {
      return is_row(a) > is_row(b);  // a row first: it may take an operand's place
    });
    return out;
  }
  // Where the fused node can stand: before everything that reads it.
  Node* place_of(const std::vector<Node*>& nodes) const {
    Node* place = nodes.back();
    for (Node* n : nodes)
      for (const Value::Use& u : n->output(0)->uses())
        if (!is_inside(u.node) && at(u.node) < at(place)) place = u.node;
    return place;
  }

 private:
  int at(const Node* n) const { return position_[static_cast<std::size_t>(n->id())]; }
  bool is_inside(const Node* n) const { return inside_.contains(const_cast<Node*>(n)); }
  bool is_read_outside(const Value* v) const {
    return results_.contains(v) ||
           std::any_of(v->uses().begin(), v->uses().end(),
                       [&](const Value::Use& u) { return !is_inside(u.node); });
  }

  bool is_row_axis(std::size_t i) const {
    return std::find(axes_.begin(), axes_.end(), static_cast<int>(i)) != axes_.end();
  }
  bool is_row(const Value* v) const { return v->type().shape() == full_; }
  bool is_kept(const Value* v) const {
    const Shape& s = v->type().shape();
    if (s.size() != full_.size()) return false;
    for (std::size_t i = 0; i < s.size(); ++i)
      if (!(s[i] == (is_row_axis(i) ? Dim(1) : full_[i]))) return false;
    return true;
  }
  bool is_short(const Value* v) const {
    Shape kept;
    for (std::size_t i = 0; i < full_.size(); ++i)
      if (!is_row_axis(i)) kept.push_back(full_[i]);
    return v->type().shape() == kept;
  }

  // Whether the node can be part of a kernel over these rows.
  bool fits(const Node& n) const {
    if (n.outputs().size() != 1 || !is_number(n.output(0)) || !n.regions().empty()) return false;
    if (updates_.contains(&n)) return false;
    if (std::vector<int> axes = folded_axes(n); !axes.empty())
      return axes == axes_ && n.input(0)->type().shape() == full_;
    if (!std::all_of(n.inputs().begin(), n.inputs().end(), is_number)) return false;
    if (n.op().name == "expand") return is_row(n.output(0)) && is_inside_value(n.input(0));
    if (!n.op().has(Trait::elementwise) || !n.op().scalar) return false;
    if (is_row(n.output(0)) || is_kept(n.output(0))) return true;
    // Without the folded axes operands align differently: only values of the group and numbers.
    return is_short(n.output(0)) &&
           std::all_of(n.inputs().begin(), n.inputs().end(), [&](const Value* v) {
             return !v || v->type().ndim() == 0 || (v->is_constant() && v->tensor().count() == 1) ||
                    is_inside_value(v);
           });
  }
  bool is_inside_value(const Value* v) const { return v->producer() && is_inside(v->producer()); }

  bool offer(Node* n) {
    if (is_inside(n) || inside_.size() >= kMaxGroup || !fits(*n)) return false;
    inside_.insert(n);
    if (is_valid()) return true;
    inside_.erase(n);
    return false;
  }

  // Few results, convex, and a place between everything that is read and everything that reads.
  bool is_valid() const {
    std::size_t results = 0;
    int last_read = -1, first_reader = graph_.num_node_ids(), last = 0;
    std::vector<const Node*> readers;
    for (const Node* n : inside_) {
      last = std::max(last, at(n));
      for (const Value* v : n->inputs())
        if (v && v->producer() && !is_inside(v->producer()))
          last_read = std::max(last_read, at(v->producer()));
      results += is_read_outside(n->output(0));
      for (const Value::Use& u : n->output(0)->uses())
        if (!is_inside(u.node)) {
          readers.push_back(u.node);
          first_reader = std::min(first_reader, at(u.node));
        }
    }
    return results <= kMaxResults && last_read < first_reader && !returns(readers, last);
  }
  // Whether something that reads the group is read by it again.
  bool returns(std::vector<const Node*> frontier, int last) const {
    std::set<const Node*> seen;
    while (!frontier.empty()) {
      const Node* n = frontier.back();
      frontier.pop_back();
      if (at(n) > last || !seen.insert(n).second) continue;
      for (const Value* v : n->outputs())
        for (const Value::Use& u : v->uses()) {
          if (is_inside(u.node)) return true;
          frontier.push_back(u.node);
        }
    }
    return false;
  }

  struct ById {
    bool operator()(const Node* a, const Node* b) const { return a->id() < b->id(); }
  };
  Graph& graph_;
  std::set<const Node*> updates_;
  std::vector<int> position_;
  std::set<const Value*> results_;
  std::vector<int> axes_;
  Shape full_;
  std::set<Node*, ById> inside_;
};

// One group, if there is one; seeds that led to none are remembered in `failed`.
bool fuse_one(Graph& graph, const PassContext& context, std::set<const Node*>& failed) {
  Grouper grouper(graph, context);
  for (Node* seed : graph.nodes()) {
    if (failed.contains(seed) || folded_axes(*seed).empty()) continue;
    const std::vector<Node*> nodes = grouper.grow(seed);
    failed.insert(seed);
    if (nodes.size() < 2) continue;
    const Values results = grouper.results_of(nodes);
    if (results.empty()) continue;
    Node* fused = make_fused(graph, nodes, results, grouper.place_of(nodes));
    if (context.backend && !context.backend->supports(*fused)) {
      graph.erase(fused);
      continue;
    }
    replace_by_fused(graph, fused, nodes, results);
    return true;
  }
  return false;
}

}  // namespace

Result<int> fuse_rows(Graph& graph, const PassContext& context) {
  int fused = 0;
  std::set<const Node*> failed;
  while (fuse_one(graph, context, failed)) ++fused;
  return fused;
}

}  // namespace tenon::passes
