// Links between nodes and values, kept consistent by the graph alone.
#include "tenon/ir/graph.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/ir/operator.h"

namespace tenon {

void Value::set_tensor(Tensor tensor) {
  TENON_CHECK(is_constant(), "value {} is no constant", name_);
  type_ = Type::of(tensor);
  tensor_ = std::move(tensor);
}

void Value::set_contents(std::optional<std::vector<Dim>> contents) {
  contents_ = contents ? std::make_shared<const std::vector<Dim>>(std::move(*contents)) : nullptr;
}

void Node::set_input(int i, Value* value) {
  Value*& slot = inputs_[static_cast<std::size_t>(i)];
  if (slot == value) return;
  if (slot) std::erase(slot->uses_, Value::Use{this, i});
  slot = value;
  if (value) value->uses_.push_back({this, i});
}

std::string place_of(std::string_view label, const Origin& origin) {
  std::string text = fmt::format("node {}", label);
  if (!origin.scope.empty() && origin.scope != label) text += fmt::format(" in {}", origin.scope);
  if (!origin.file.empty()) text += fmt::format(", {}", origin.file);
  if (origin.index >= 0) text += fmt::format(" #{}", origin.index);
  return text;
}

std::string Node::place() const {
  return place_of(name_.empty() ? op_->name : std::string_view(name_), origin_);
}

Graph::~Graph() = default;

Value* Graph::new_value(Value::Kind kind, std::string name, Type type) {
  auto value = std::make_unique<Value>();
  value->kind_ = kind;
  value->name_ = std::move(name);
  value->type_ = std::move(type);
  value->graph_ = this;
  value->id_ = next_value_id_++;
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::add_input(std::string name, Type type) {
  Value* v = new_value(Value::Kind::input, std::move(name), std::move(type));
  v->index_ = static_cast<int>(inputs_.size());
  inputs_.push_back(v);
  return v;
}

Value* Graph::add_constant(std::string name, Tensor tensor) {
  Value* v = new_value(Value::Kind::constant, std::move(name), Type::of(tensor));
  v->tensor_ = std::move(tensor);
  return v;
}

void Graph::add_output(Value* value, std::string name) {
  TENON_CHECK(value != nullptr && value->graph_ == this, "output {} of graph {} is no value of it",
              name, name_);
  outputs_.push_back(value);
  output_names_.push_back(std::move(name));
}

void Graph::set_output(int index, Value* value) {
  outputs_[static_cast<std::size_t>(index)] = value;
}

Values Graph::constants() const {
  Values out;
  for (const auto& v : values_)
    if (v && v->is_constant()) out.push_back(v.get());
  return out;
}

void Graph::erase_input(int index) {
  Value* v = inputs_[static_cast<std::size_t>(index)];
  TENON_CHECK(v->uses_.empty(), "input {} is still used", v->name_);
  inputs_.erase(inputs_.begin() + index);
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->index_ = static_cast<int>(i);
  values_[static_cast<std::size_t>(v->id_)].reset();
}

Node* Graph::add_node(const Operator& op, Values inputs, Attrs attrs,
                      std::vector<std::unique_ptr<Graph>> regions, int num_outputs, Node* before) {
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->op_ = &op;
  node->inputs_ = std::move(inputs);
  node->attrs_ = std::move(attrs);
  node->regions_ = std::move(regions);
  node->graph_ = this;
  node->id_ = next_node_id_++;
  nodes_.push_back(std::move(owned));
  for (std::size_t i = 0; i < node->inputs_.size(); ++i)
    if (Value* v = node->inputs_[i]) {
      TENON_CHECK(v->graph_ == this, "{} takes value {} of another graph", op.name, v->name_);
      v->uses_.push_back({node, static_cast<int>(i)});
    }
  resize_outputs(node, num_outputs);
  link(node, before);
  return node;
}

void Graph::resize_outputs(Node* node, int num_outputs) {
  TENON_CHECK(static_cast<int>(node->outputs_.size()) <= num_outputs, "{} loses results",
              node->op_->name);
  for (int i = static_cast<int>(node->outputs_.size()); i < num_outputs; ++i) {
    Value* v = new_value(Value::Kind::result, {}, {});
    v->producer_ = node;
    v->index_ = i;
    node->outputs_.push_back(v);
  }
}

void Graph::link(Node* node, Node* before) {
  node->next_ = before;
  node->previous_ = before ? before->previous_ : last_;
  (node->previous_ ? node->previous_->next_ : first_) = node;
  (before ? before->previous_ : last_) = node;
  ++num_nodes_;
}

void Graph::unlink(Node* node) {
  (node->previous_ ? node->previous_->next_ : first_) = node->next_;
  (node->next_ ? node->next_->previous_ : last_) = node->previous_;
  --num_nodes_;
}

void Graph::drop_uses(Node* node) {
  for (std::size_t i = 0; i < node->inputs_.size(); ++i)
    if (Value* v = node->inputs_[i]) std::erase(v->uses_, Value::Use{node, static_cast<int>(i)});
}

void Graph::erase(Node* node) {
  for (Value* v : node->outputs_) {
    TENON_CHECK(v->uses_.empty(), "{} is erased while {} is used", node->place(), v->name_);
    TENON_CHECK(std::find(outputs_.begin(), outputs_.end(), v) == outputs_.end(),
                "{} is erased while it is an output", node->place());
  }
  drop_uses(node);
  unlink(node);
  for (Value* v : node->outputs_) values_[static_cast<std::size_t>(v->id_)].reset();
  nodes_[static_cast<std::size_t>(node->id_)].reset();
}

void Graph::erase_constant(Value* value) {
  TENON_CHECK(value->is_constant() && value->uses_.empty(), "constant {} is still used",
              value->name_);
  values_[static_cast<std::size_t>(value->id_)].reset();
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  for (const Value::Use& use : std::vector<Value::Use>(from->uses_))
    use.node->set_input(use.index, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::move_before(Node* node, Node* before) {
  unlink(node);
  link(node, before);
}

Dim Graph::fresh_symbol(std::string_view stem) {
  return Dim::symbol(fmt::format("{}${}", stem, next_symbol_++));
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name_);
  std::unordered_map<const Value*, Value*> map;  // looked up only, never walked
  for (Value* v : inputs_) {
    map[v] = copy->add_input(v->name_, v->type_);
    map[v]->contents_ = v->contents_;
  }
  for (Value* v : constants()) {
    map[v] = copy->add_constant(v->name_, v->tensor_);
    map[v]->trainable = v->trainable;
  }
  for (Node* n : nodes()) {
    Values inputs;
    for (Value* v : n->inputs_) inputs.push_back(v ? map.at(v) : nullptr);
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& r : n->regions_) regions.push_back(r->clone());
    Node* m = copy->add_node(*n->op_, std::move(inputs), n->attrs_, std::move(regions),
                             static_cast<int>(n->outputs_.size()));
    m->name_ = n->name_;
    m->origin_ = n->origin_;
    for (std::size_t i = 0; i < n->outputs_.size(); ++i) {
      Value *from = n->outputs_[i], *to = m->outputs_[i];
      to->type_ = from->type_;
      to->name_ = from->name_;
      to->contents_ = from->contents_;
      map[from] = to;
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    copy->add_output(map.at(outputs_[i]), output_names_[i]);
  copy->constraints_ = constraints_;
  copy->metadata_ = metadata_;
  copy->next_symbol_ = next_symbol_;
  copy->symbol_scope_ = symbol_scope_;
  return copy;
}

}  // namespace tenon
