// widen: what the backend does not compute in f16 or bf16 is computed in f32 and rounded once.
//
//   op(x) -> narrow(op'(wide(x)))  with op' the same operator on f32
//
// A value that was computed wide is read wide by its readers, too (wide(narrow(y)) -> y), so a
// chain of operators rounds where the graph asks for a narrow value: at its outputs, at casts that
// the model holds, and where an operator has no wide form. That is never less precise than rounding
// after every operator. Constants are converted here, however large: a cast of weights in every run
// would cost more than their memory.
#include <algorithm>
#include <map>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool is_narrow(const Type& t) {
  return t.is_tensor() && (t.dtype() == DType::f16 || t.dtype() == DType::bf16);
}

class Widening {
 public:
  Widening(Graph& graph, const Backend& backend) : graph_(graph), backend_(backend) {}

  int run() {
    for (Node* node : graph_.nodes()) visit(node);
    drop_unread_casts();
    return widened_;
  }

 private:
  void visit(Node* node) {
    if (node->op().has(Trait::control_flow) || !node->regions().empty()) return;
    if (node->op().name == "cast") return read_wide(node);
    bool has_narrow = false, has_wide = false;
    for (const Value* v : node->inputs()) {
      if (!v) continue;
      if (!v->type().is_tensor()) return;
      has_narrow = has_narrow || is_narrow(v->type());
      has_wide = has_wide || wide_.contains(v);
    }
    if (!has_narrow || (!has_wide && backend_.supports(*node))) return;
    widened_ += widen(node);
  }

  // A cast that the model holds reads what was computed: one rounding less.
  void read_wide(Node* cast) {
    const auto it = wide_.find(cast->input(0));
    if (it != wide_.end() && !it->second->is_constant()) cast->set_input(0, it->second);
  }

  Value* wide_input(GraphBuilder& builder, Value* v) {
    if (!v || !is_narrow(v->type())) return v;
    if (const auto it = wide_.find(v); it != wide_.end()) return it->second;
    if (!v->is_constant())
      return wide_[v] = builder.call(builder.op("cast"), {v}, {{"to", DType::f32}})[0];
    const Tensor& t = v->tensor();
    Tensor wide(DType::f32, t.dims());
    const auto from = t.data<std::uint16_t>();
    std::transform(from.begin(), from.end(), wide.data<float>().begin(),
                   t.dtype() == DType::f16 ? f16_to_float : bf16_to_float);
    return wide_[v] = graph_.add_constant(v->name(), std::move(wide));
  }

  bool widen(Node* node) {
    GraphBuilder builder(graph_, ops::table(), node);
    builder.set_origin(node->name(), node->origin());
    const auto known = wide_;
    const Node* before = node->previous();
    Values inputs;
    for (Value* v : node->inputs()) inputs.push_back(wide_input(builder, v));
    const Values made = builder.call(node->op(), std::move(inputs), node->attrs(), {},
                                     static_cast<int>(node->outputs().size()));
    if (!builder.status().ok() || !same_but_wide(*node, made)) {
      wide_ = known;
      for (Node* n = node->previous(); n != before;) {
        Node* previous = n->previous();
        graph_.erase(n);
        n = previous;
      }
      return false;
    }
    for (std::size_t i = 0; i < made.size(); ++i)
      replace(builder, node->output(static_cast<int>(i)), made[i]);
    graph_.erase(node);
    return true;
  }

  static bool same_but_wide(const Node& node, const Values& made) {
    if (made.size() != node.outputs().size()) return false;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Type &was = node.output(static_cast<int>(i))->type(), &is = made[i]->type();
      const bool is_wide = is_narrow(was) && was.ranked() == is.ranked() &&
                           is.dtype() == DType::f32 && was.shape() == is.shape();
      if (!is_wide && !(was == is)) return false;
    }
    return true;
  }

  void replace(GraphBuilder& builder, Value* old, Value* made) {
    if (made->type() == old->type()) {
      made->set_name(old->name());
      graph_.replace_uses(old, made);
      return;
    }
    Value* narrow = builder.call(builder.op("cast"), {made}, {{"to", old->type().dtype()}})[0];
    narrow->set_name(old->name());
    graph_.replace_uses(old, narrow);
    wide_[narrow] = made;
    casts_.push_back(narrow);
  }

  // Where nobody reads the narrow value, the wide one takes its name, for comparisons by layer.
  void drop_unread_casts() {
    for (auto it = casts_.rbegin(); it != casts_.rend(); ++it) {
      Value* narrow = *it;
      if (!narrow->uses().empty() || std::find(graph_.outputs().begin(), graph_.outputs().end(),
                                               narrow) != graph_.outputs().end())
        continue;
      Node* cast = narrow->producer();
      cast->input(0)->set_name(narrow->name());
      graph_.erase(cast);
    }
  }

  Graph& graph_;
  const Backend& backend_;
  std::map<const Value*, Value*> wide_;  // of narrow values, looked up only
  Values casts_;                         // narrow values that this pass made
  int widened_ = 0;
};

}  // namespace

Result<int> widen(Graph& graph, const PassContext& context) {
  return context.backend ? Widening(graph, *context.backend).run() : 0;
}

}  // namespace tenon::passes
