// Copying nodes, changed where training differs from use.
#include "tenon/ops/registry.h"
#include "tenon/train/training_form_internal.h"

namespace tenon::train {
namespace {

// Operators with batch statistics have a flag `training`, inputs `mean` and `var`, and as outputs 1
// and 2 what these become.
bool has_statistics(const Operator& op) { return op.attr("training") != nullptr; }
bool is_named(const InputSpec& spec, std::string_view name) { return spec.name == name; }

int input_named(const Operator& op, std::string_view name) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    if (is_named(op.inputs[i], name)) return static_cast<int>(i);
  return -1;
}

}  // namespace

FormCopy::FormCopy(const Graph& model, GraphBuilder& builder, bool is_training)
    : model_(model), builder_(builder), is_training_(is_training) {}

bool FormCopy::is_statistic(const Value* constant) const {
  for (const Value::Use& u : constant->uses())
    if (const Operator& op = u.node->op();
        has_statistics(op) &&
        (u.index == input_named(op, "mean") || u.index == input_named(op, "var")))
      return true;
  return false;
}

void FormCopy::declare_state(std::vector<StateEntry>& state) {
  for (const Value* v : model_.constants()) {
    const bool is_state = is_statistic(v);
    if (!v->trainable && !is_state) {
      Value* copy = builder_.graph().add_constant(v->name(), v->tensor());
      map_[v] = copy;
      continue;
    }
    const Type type = Type::of(v->tensor());
    map_[v] = builder_.graph().add_input(v->name(), type);
    state_of_[v] = state.size();
    state.push_back({v->name(), v->trainable ? Role::weight : Role::statistics, type});
    if (v->trainable) weights_.push_back(map_[v]);
  }
}

Status FormCopy::copy_nodes() {
  for (const Node* n : model_.nodes()) TENON_TRY(copy(*n));
  return {};
}

Status FormCopy::copy(const Node& node) {
  Values inputs;
  for (const Value* v : node.inputs()) inputs.push_back(v ? map_.at(v) : nullptr);
  Attrs attrs = node.attrs();
  int num_outputs = static_cast<int>(node.outputs().size());
  const bool moves = is_training_ && has_statistics(node.op());
  if (moves) attrs.set("training", true), num_outputs = -1;
  if (const int mode = input_named(node.op(), "training_mode"); is_training_ && mode >= 0) {
    const int key = input_named(node.op(), "key");
    inputs.resize(static_cast<std::size_t>(std::max(mode, key)) + 1, nullptr);
    inputs[static_cast<std::size_t>(mode)] = builder_.constant(Tensor::full(DType::boolean, {}, 1));
    inputs[static_cast<std::size_t>(key)] = key_;
    attrs.set("seed", draws_++);
  }
  std::vector<std::unique_ptr<Graph>> regions;
  for (const auto& r : node.regions()) regions.push_back(r->clone());
  builder_.set_origin(node.name(), node.origin());
  const Values outputs = builder_.call(node.op(), std::move(inputs), std::move(attrs),
                                       std::move(regions), num_outputs);
  if (!builder_.status().ok())
    return Status(Error(builder_.take_status().error()).at(node.place()));
  for (std::size_t i = 0; i < node.outputs().size(); ++i) map_[node.outputs()[i]] = outputs[i];
  if (moves)
    for (int k = 0; k < 2; ++k) {
      const Value* from = node.input(input_named(node.op(), k == 0 ? "mean" : "var"));
      if (from && state_of_.contains(from))
        moved_[state_of_.at(from)] = outputs[static_cast<std::size_t>(k) + 1];
    }
  return {};
}

}  // namespace tenon::train
