// ai.onnx.preview.training: optimizer steps, and gradients of a graph's values.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

constexpr std::string_view kDomain = "ai.onnx.preview.training";

// R, T, then all tensors of one kind after the other: values, gradients, states.
Values optimizer(Context& c, int num_kinds, Attrs attrs) {
  const int rest = c.num_inputs() - 2;
  if (rest < num_kinds || rest % num_kinds)
    return c.fail(invalid("{} tensors cannot be {} kinds of one number", rest, num_kinds));
  return c.all(c.row().page, c.inputs(), std::move(attrs),
               rest / num_kinds * (num_kinds - 1));  // the gradient has no successor
}

Values adagrad(Context& c) {
  return optimizer(c, 3,
                   {{"epsilon", c.real("epsilon", 1e-6)},
                    {"decay_factor", c.real("decay_factor", 0)},
                    {"norm_coefficient", c.real("norm_coefficient", 0)}});
}

Values adam(Context& c) {
  return optimizer(c, 4,
                   {{"alpha", c.real("alpha", 0.9)},
                    {"beta", c.real("beta", 0.999)},
                    {"epsilon", c.real("epsilon", 1e-6)},
                    {"norm_coefficient", c.real("norm_coefficient", 0)},
                    {"norm_coefficient_post", c.real("norm_coefficient_post", 0)}});
}

Values momentum(Context& c) {
  return optimizer(c, 3,
                   {{"alpha", c.real("alpha", 0)},
                    {"beta", c.real("beta", 0)},
                    {"mode", c.text("mode", "standard")},
                    {"norm_coefficient", c.real("norm_coefficient", 0)}});
}

// ---- Gradient: reverse accumulation over the nodes between xs and y, by the pages' own rules ----

class Adjoints {
 public:
  Adjoints(Context& c, Value* y) : context_(c) {
    add(y, c.op("expand", {c.number(1, y), c.shape(y)}));
  }

  void add(Value* v, Value* dv) {
    if (!dv) return;
    Value*& slot = of_[v];
    slot = slot ? context_.op("add", {slot, dv}) : dv;
  }
  Value* of(Value* v) const {
    const auto it = of_.find(v);
    return it == of_.end() ? nullptr : it->second;
  }
  void pass(Node* node) {
    Values dys;
    bool any = false;
    for (Value* out : node->outputs()) {
      dys.push_back(of(out));
      any |= dys.back() != nullptr;
    }
    if (!any) return;
    if (!node->op().gradient) {
      context_.fail(
          unsupported("{} has no gradient: {}", node->op().name, node->op().gradient.reason()));
      return;
    }
    const Values dxs = node->op().gradient(context_.builder(), Call(*node), dys);
    for (std::size_t i = 0; i < dxs.size() && i < node->inputs().size(); ++i)
      if (node->inputs()[i]) add(node->inputs()[i], dxs[i]);
  }

 private:
  Context& context_;
  std::unordered_map<Value*, Value*> of_;  // looked up only
};

Values gradient(Context& c) {
  const auto xs = c.texts("xs"), zs = c.texts("zs");
  Value* y = c.scope().find(c.text("y", ""));
  if (!y) return c.fail(invalid("the value y is not there"));
  Values wanted;
  for (const std::string& x : xs) {
    wanted.push_back(c.scope().find(x));
    if (!wanted.back()) return c.fail(invalid("the value {} is not there", x));
  }
  Adjoints adjoints(c, y);
  // Nodes that the rules append come after, so walking back from here meets the forward nodes only.
  Node* last = y->producer();
  for (Node* node = last; node && !c.failed(); node = node->previous()) adjoints.pass(node);
  Values outputs;
  for (Value* x : wanted)
    outputs.push_back(adjoints.of(x) ? adjoints.of(x) : c.full(c.shape(x), 0, x->type().dtype()));
  return outputs;
}

}  // namespace

void add_training_rows(Rows& rows) {
  rows.push_back({.domain = kDomain, .op_type = "Adagrad", .convert = adagrad, .page = "adagrad"});
  rows.push_back({.domain = kDomain, .op_type = "Adam", .convert = adam, .page = "adam"});
  rows.push_back(
      {.domain = kDomain, .op_type = "Momentum", .convert = momentum, .page = "momentum"});
  rows.push_back({.domain = kDomain, .op_type = "Gradient", .convert = gradient});
}

}  // namespace tenon::onnx
