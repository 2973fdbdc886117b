// The graph: values, nodes that make them, and regions (graphs inside nodes).
//
// Ownership: a Graph owns its nodes, its values and their regions; pointers to them stay valid
// until the node is erased or the graph dies. Nodes stand in an order that is always a valid
// execution order (the verifier checks it). A region sees nothing of the graph around it: what it
// uses from outside comes in through inputs of its node, after the node's own, and through inputs
// of the region, after the region's own ("captures").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/ir/attr.h"
#include "tenon/ir/type.h"

namespace tenon {

class Graph;
class Node;
struct Operator;

/// Where a node came from, for errors and reports.
struct Origin {
  std::string file;   // "model.onnx"
  int index = -1;     // position in the file, -1 when not from a file
  std::string scope;  // "encoder/layer.3", when the exporter kept it
};
/// "node enc.3/proj in encoder, model.onnx #418", for errors.
std::string place_of(std::string_view label, const Origin& origin);

/// One tensor (or sequence, or optional) of a graph.
class Value {
 public:
  enum class Kind : std::uint8_t { input, constant, result };
  struct Use {
    Node* node;
    int index;
    friend bool operator==(const Use&, const Use&) = default;
  };

  Kind kind() const { return kind_; }
  bool is_constant() const { return kind_ == Kind::constant; }
  const Type& type() const { return type_; }
  void set_type(Type type) { type_ = std::move(type); }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// The node that makes it; nullptr for inputs and constants.
  Node* producer() const { return producer_; }
  /// Which result of the producer, or which input of the graph.
  int index() const { return index_; }
  /// Dense within the graph; never reused.
  int id() const { return id_; }
  Graph* graph() const { return graph_; }
  const std::vector<Use>& uses() const { return uses_; }
  /// The data of a constant.
  const Tensor& tensor() const {
    TENON_CHECK(is_constant(), "value {} is no constant", name_);
    return tensor_;
  }
  void set_tensor(Tensor tensor);
  /// Elements of a small integer tensor as far as they are known, row-major; nullptr when unknown.
  const std::vector<Dim>* contents() const { return contents_.get(); }
  void set_contents(std::optional<std::vector<Dim>> contents);
  /// Whether training may change this constant.
  bool trainable = false;

 private:
  friend class Graph;
  friend class Node;
  Kind kind_ = Kind::result;
  Type type_;
  std::string name_;
  Node* producer_ = nullptr;
  int index_ = 0;
  int id_ = 0;
  Graph* graph_ = nullptr;
  std::vector<Use> uses_;
  Tensor tensor_;
  std::shared_ptr<const std::vector<Dim>> contents_;
};
using Values = std::vector<Value*>;  // nullptr: absent

/// One application of an operator.
class Node {
 public:
  const Operator& op() const { return *op_; }
  const Values& inputs() const { return inputs_; }
  /// nullptr when the input is absent or there are fewer.
  Value* input(int i) const {
    return i < static_cast<int>(inputs_.size()) ? inputs_[static_cast<std::size_t>(i)] : nullptr;
  }
  const Values& outputs() const { return outputs_; }
  Value* output(int i) const { return outputs_[static_cast<std::size_t>(i)]; }
  void set_input(int i, Value* value);
  const Attrs& attrs() const { return attrs_; }
  Attrs& attrs() { return attrs_; }
  const std::vector<std::unique_ptr<Graph>>& regions() const { return regions_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  /// "node enc.3/proj, model.onnx #418", for errors.
  std::string place() const;
  Graph* graph() const { return graph_; }
  int id() const { return id_; }
  Node* next() const { return next_; }
  Node* previous() const { return previous_; }

 private:
  friend class Graph;
  const Operator* op_ = nullptr;
  Values inputs_, outputs_;
  Attrs attrs_;
  std::vector<std::unique_ptr<Graph>> regions_;
  std::string name_;
  Origin origin_;
  Graph* graph_ = nullptr;
  Node *previous_ = nullptr, *next_ = nullptr;
  int id_ = 0;
};

/// A fact about symbols that inference needed and could not decide: the two must be equal at run
/// time. `what` is the condition's text, `where` the node's place.
struct Constraint {
  Dim left, right;
  std::string what, where;
};

class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  Value* add_input(std::string name, Type type);
  /// A constant of the graph: a weight, or a literal.
  Value* add_constant(std::string name, Tensor tensor);
  /// Marks a value as the next output. A value may be several outputs.
  void add_output(Value* value, std::string name);
  void set_output(int index, Value* value);

  const Values& inputs() const { return inputs_; }
  const Values& outputs() const { return outputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  /// Constants in the order of their making; some may have no use.
  Values constants() const;
  void erase_input(int index);

  /// Appends (or puts before `before`) a node with `num_outputs` results of undefined type.
  Node* add_node(const Operator& op, Values inputs, Attrs attrs,
                 std::vector<std::unique_ptr<Graph>> regions, int num_outputs,
                 Node* before = nullptr);
  /// Gives a fresh node its results, once inference knows how many there are.
  void resize_outputs(Node* node, int num_outputs);
  /// Removes a node none of whose results is used.
  void erase(Node* node);
  /// Removes an unused constant.
  void erase_constant(Value* value);
  /// Every use of `from`, also as an output, becomes a use of `to`.
  void replace_uses(Value* from, Value* to);
  void move_before(Node* node, Node* before);

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  int num_nodes() const { return num_nodes_; }
  /// One more than the largest value id, for side tables.
  int num_value_ids() const { return next_value_id_; }
  int num_node_ids() const { return next_node_id_; }

  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_ ? node_->next() : nullptr;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return node_ != o.node_; }

   private:
    Node *node_, *next_;  // the current node may be erased while iterating
  };
  struct Range {
    Node* first;
    Iterator begin() const { return Iterator(first); }
    Iterator end() const { return Iterator(nullptr); }
  };
  /// Nodes in execution order.
  Range nodes() const { return {first_}; }

  std::vector<Constraint>& constraints() { return constraints_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  /// Free text about the model: producer, opsets, licence.
  std::map<std::string, std::string>& metadata() { return metadata_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// A symbol that no dim of this graph uses yet, for sizes that only the data tells.
  Dim fresh_symbol(std::string_view stem);
  /// Put into the names of sizes that only the data tells, so that those of a region and of the
  /// graph around it differ. Empty for a graph that is no region; inference of control flow sets
  /// it.
  const std::string& symbol_scope() const { return symbol_scope_; }
  void set_symbol_scope(std::string scope) { symbol_scope_ = std::move(scope); }

  /// A deep copy; tensors share storage.
  std::unique_ptr<Graph> clone() const;

 private:
  Value* new_value(Value::Kind kind, std::string name, Type type);
  void link(Node* node, Node* before);
  void unlink(Node* node);
  void drop_uses(Node* node);

  std::string name_;
  std::vector<std::unique_ptr<Value>> values_;  // by id; erased ones are null
  std::vector<std::unique_ptr<Node>> nodes_;
  Values inputs_, outputs_;
  std::vector<std::string> output_names_;
  Node *first_ = nullptr, *last_ = nullptr;
  std::string symbol_scope_;
  int num_nodes_ = 0, next_value_id_ = 0, next_node_id_ = 0, next_symbol_ = 0;
  std::vector<Constraint> constraints_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace tenon
