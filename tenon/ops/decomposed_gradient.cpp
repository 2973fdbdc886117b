// Reverse-mode differentiation of one operator's decomposition.
#include <algorithm>
#include <map>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// The nodes from `first` on that the outputs depend on, in order of creation.
std::vector<const Node*> nodes_behind(const Values& outputs, int first) {
  std::map<int, const Node*> found;
  Values open = outputs;
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    if (!v || !v->producer() || v->producer()->id() < first ||
        !found.emplace(v->producer()->id(), v->producer()).second)
      continue;
    open.insert(open.end(), v->producer()->inputs().begin(), v->producer()->inputs().end());
  }
  std::vector<const Node*> nodes;
  for (const auto& [id, node] : found) nodes.push_back(node);
  return nodes;
}

// Gradients collected so far, summed where a value has several uses.
class Adjoints {
 public:
  explicit Adjoints(B g) : g_(g) {}
  void add(const Value* v, Value* dv) {
    if (!v || !dv) return;
    Value*& sum = sums_[v];
    sum = sum ? g_.add(sum, dv) : dv;
  }
  Value* of(const Value* v) const {
    auto it = sums_.find(v);
    return it == sums_.end() ? nullptr : it->second;
  }
  Value* take(const Value* v) {
    auto node = sums_.extract(v);
    return node.empty() ? nullptr : node.mapped();
  }

 private:
  B g_;
  std::map<const Value*, Value*> sums_;  // looked up by key only: order plays no part
};

}  // namespace

Values gradients_through(B g, int first_node, const Values& ys, const Values& dys,
                         const Values& xs) {
  const auto nodes = nodes_behind(ys, first_node);
  Adjoints adjoints(g);
  for (std::size_t i = 0; i < dys.size() && i < ys.size(); ++i) adjoints.add(ys[i], dys[i]);
  for (auto it = nodes.rbegin(); it != nodes.rend() && g.builder().status().ok(); ++it) {
    const Node& node = **it;
    Values dy;
    for (const Value* y : node.outputs()) dy.push_back(adjoints.of(y));
    const bool reached =
        std::any_of(dy.begin(), dy.end(), [](const Value* v) { return v != nullptr; });
    if (!reached || !node.op().gradient) continue;
    const Values dx = node.op().gradient(g.builder(), Call(node), dy);
    for (std::size_t k = 0; k < dx.size() && k < node.inputs().size(); ++k)
      adjoints.add(node.inputs()[k], dx[k]);
  }
  Values dxs;
  for (const Value* x : xs) dxs.push_back(x ? adjoints.take(x) : nullptr);
  return dxs;
}

Values gradient_of_decomposition(B g, const Call& c, const Values& dys) {
  const int first_node = g.builder().graph().num_node_ids();
  return gradients_through(g, first_node, c.op().decompose(g.builder(), c), dys, c.values());
}

}  // namespace tenon::ops
