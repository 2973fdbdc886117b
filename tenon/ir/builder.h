// Builders apply operators: one implementation appends to a graph, another (autograd/) executes at
// once and keeps the tape. Rules written against Builder serve both.
#pragma once

#include <string>

#include "tenon/ir/operator.h"

namespace tenon {

/// Applies operators to values. Errors are sticky: after the first one, calls return values of
/// undefined type and status() says what went wrong, so rules read as plain expressions.
class Builder {
 public:
  virtual ~Builder() = default;
  /// Outputs of `op`. `num_outputs` is needed only where inference cannot tell (split); -1
  /// otherwise.
  virtual Values call(const Operator& op, Values inputs, Attrs attrs = {},
                      std::vector<std::unique_ptr<Graph>> regions = {}, int num_outputs = -1) = 0;
  virtual Value* constant(Tensor tensor) = 0;
  /// Finds an operator by name; a check fails when there is none.
  virtual const Operator& op(std::string_view name) const = 0;
  virtual const Status& status() const = 0;
  virtual void fail(Error error) = 0;
  /// The graph that calls go to.
  virtual Graph& graph() = 0;
  /// Differentiates a region, for the gradient rules of control flow (docs/design_autograd.md). Of
  /// `region`, y = f(x), the result computes dx from x and dy: its inputs are those of `region`,
  /// then one dy for each output that is `seeded`; its outputs are the gradients of the inputs that
  /// are `wanted`, in order, zeros where nothing depends on an input. autograd/ implements it;
  /// without it the answer is unsupported.
  virtual Result<std::unique_ptr<Graph>> differentiate(const Graph& region,
                                                       const std::vector<bool>& seeded,
                                                       const std::vector<bool>& wanted);
};

/// Appends to a graph (or inserts before a node), inferring types as it goes.
class GraphBuilder : public Builder {
 public:
  GraphBuilder(Graph& graph, const OperatorTable& table, Node* before = nullptr)
      : graph_(graph), table_(table), before_(before) {}
  Values call(const Operator& op, Values inputs, Attrs attrs = {},
              std::vector<std::unique_ptr<Graph>> regions = {}, int num_outputs = -1) override;
  Value* constant(Tensor tensor) override;
  const Operator& op(std::string_view name) const override;
  const Status& status() const override { return status_; }
  void fail(Error error) override;
  Graph& graph() override { return graph_; }
  const OperatorTable& table() const { return table_; }
  /// Name and origin of the nodes added from now on.
  void set_origin(std::string name, Origin origin) {
    name_ = std::move(name);
    origin_ = std::move(origin);
  }
  void set_insertion_point(Node* before) { before_ = before; }
  /// Takes the error, so that building can go on (importers collect all problems).
  Status take_status() { return std::exchange(status_, Status()); }

 private:
  Graph& graph_;
  const OperatorTable& table_;
  Node* before_;
  Status status_;
  std::string name_;
  Origin origin_;
};

/// Applies the nodes of `graph` to `inputs`, as if it were one operator: its outputs.
Values inline_graph(Builder& builder, const Graph& graph, const Values& inputs);

/// Checks inputs and attributes against the page: number, element types, type variables, attribute
/// names and kinds. All problems of the call in one error.
Status check_call(const Operator& op, const Values& inputs, const Attrs& attrs);
/// Output types of a node by its page, with the checks above. Constraints go to `constraints`.
Result<Types> infer(const Node& node, std::vector<Constraint>* constraints = nullptr);
/// Symbolic contents of output 0 (small integer tensors), or nothing.
std::optional<std::vector<Dim>> infer_contents(const Node& node);
/// Infers again every type of a graph in order, after inputs or constants changed.
Status infer_all(Graph& graph);
/// Hook through which movement operators compute symbolic contents; ops/ installs its interpreter.
using Evaluate = Result<Datums> (*)(const Node& node, const Datums& inputs);
void set_contents_evaluator(Evaluate evaluate);

}  // namespace tenon
