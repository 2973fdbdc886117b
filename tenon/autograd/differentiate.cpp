// One walk backwards; gradients of a value with several readers are added as they arrive.
#include "tenon/autograd/differentiate.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon::autograd {
namespace {

bool is_differentiable(const Value* v) {
  return v && v->type().is_tensor() && is_floating(v->type().dtype());
}

class Reverse {
 public:
  explicit Reverse(Graph& graph) : graph_(graph), builder_(graph, ops::table()) {}

  Result<Values> run(const Values& outputs, const Values& upstream, const Values& wrt) {
    Node* last = graph_.last();  // nodes after it are gradients
    mark(wrt);
    ops::B b(builder_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!is_differentiable(outputs[i])) continue;
      Value* dy = i < upstream.size() && upstream[i]
                      ? upstream[i]
                      : b.expand(b.number(1, outputs[i]), b.shape(outputs[i]));
      accumulate(outputs[i], dy);
    }
    for (Node* n = last; n; n = n->previous()) TENON_TRY(step(*n));
    Values gradients;
    for (Value* v : wrt) gradients.push_back(sums_.contains(v) ? sums_.at(v) : b.zeros_like(v));
    TENON_TRY(Status(builder_.take_status()));
    return gradients;
  }

 private:
  // Values that depend on something in `wrt`: nothing else needs a gradient.
  void mark(const Values& wrt) {
    active_.assign(static_cast<std::size_t>(graph_.num_value_ids()), false);
    for (const Value* v : wrt) active_[static_cast<std::size_t>(v->id())] = true;
    for (const Node* n : graph_.nodes())
      if (std::any_of(n->inputs().begin(), n->inputs().end(),
                      [&](const Value* v) { return is_active(v); }))
        for (const Value* v : n->outputs())
          active_[static_cast<std::size_t>(v->id())] = is_differentiable(v);
  }
  bool is_active(const Value* v) const {
    return v && static_cast<std::size_t>(v->id()) < active_.size() &&
           active_[static_cast<std::size_t>(v->id())];
  }

  void accumulate(Value* v, Value* dy) {
    if (!dy || !is_active(v)) return;
    Value*& sum = sums_[v];
    sum = sum ? ops::B(builder_).add(sum, dy) : dy;
  }

  Status step(Node& n) {
    Values dys;
    bool any = false;
    for (Value* v : n.outputs()) {
      auto it = sums_.find(v);
      dys.push_back(it == sums_.end() ? nullptr : it->second);
      any = any || dys.back();
    }
    if (!any) return {};
    if (!n.op().gradient)
      return unsupported("{} has no gradient: {} [{}]", n.op().name, n.op().gradient.reason(),
                         n.place());
    builder_.set_origin(n.name().empty() ? "" : n.name() + ".grad", n.origin());
    const Values dxs = n.op().gradient(builder_, Call(n), dys);
    if (!builder_.status().ok()) return builder_.take_status();
    for (std::size_t i = 0; i < dxs.size() && i < n.inputs().size(); ++i)
      accumulate(n.inputs()[i], dxs[i]);
    return {};
  }

  Graph& graph_;
  GraphBuilder builder_;
  std::vector<bool> active_;
  std::unordered_map<const Value*, Value*> sums_;  // looked up only
};

bool is_single(DType d) { return d == DType::f32 || d == DType::f16 || d == DType::bf16; }
Tensor doubled(const Tensor& t) {
  return is_single(t.dtype()) ? from_doubles(to_doubles(t), DType::f64, t.dims()) : t;
}

Attrs doubled(const Attrs& attrs) {
  Attrs out = attrs;
  for (const auto& [key, value] : attrs) {
    if (const DType* d = value.get<DType>(); d && is_single(*d)) out.set(key, DType::f64);
    if (const Tensor* t = value.get<Tensor>()) out.set(key, doubled(*t));
  }
  return out;
}

}  // namespace

Result<Values> differentiate(Graph& graph, const Values& outputs, const Values& upstream,
                             const Values& wrt) {
  return Reverse(graph).run(outputs, upstream, wrt);
}

Result<std::unique_ptr<Graph>> in_double(const Graph& graph) {
  auto copy = std::make_unique<Graph>(graph.name());
  GraphBuilder builder(*copy, ops::table());
  std::unordered_map<const Value*, Value*> map;
  for (const Value* v : graph.inputs())
    map[v] = copy->add_input(
        v->name(), is_single(v->type().dtype()) ? v->type().with_dtype(DType::f64) : v->type());
  for (const Value* v : graph.constants())
    map[v] = copy->add_constant(v->name(), doubled(v->tensor()));
  for (const Node* n : graph.nodes()) {
    Values inputs;
    for (const Value* v : n->inputs()) inputs.push_back(v ? map.at(v) : nullptr);
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& r : n->regions()) regions.push_back(TENON_TRY(in_double(*r)));
    builder.set_origin(n->name(), n->origin());
    const Values outputs = builder.call(n->op(), std::move(inputs), doubled(n->attrs()),
                                        std::move(regions), static_cast<int>(n->outputs().size()));
    TENON_TRY(Status(builder.take_status()));
    for (std::size_t i = 0; i < n->outputs().size(); ++i) {
      outputs[i]->set_name(n->outputs()[i]->name());
      map[n->outputs()[i]] = outputs[i];
    }
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    copy->add_output(map.at(graph.outputs()[i]), graph.output_names()[i]);
  return copy;
}

}  // namespace tenon::autograd
