// What the conversion of one ONNX node sees: its inputs, attributes, operator version, and a
// builder.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/formats/onnx/proto.h"
#include "tenon/ir/builder.h"

namespace tenon::onnx {

class Importer;
class Context;

/// One application of a model-local function: what references to its attributes mean.
struct Frame {
  const FunctionProto* function = nullptr;
  const Frame* caller = nullptr;
  std::vector<std::pair<std::string_view, const AttributeProto*>>
      attributes;      // resolved by the caller
  std::string prefix;  // "encoder/layer.3/"
  int depth = 0;
};

/// Names visible in one graph or function body. In a region, names of the graph around it become
/// captures: inputs of the region, in the order of their first use.
struct Scope {
  Scope(Graph& g, GraphBuilder& b, Scope* outer_scope) : graph(g), builder(b), outer(outer_scope) {}
  Graph& graph;
  GraphBuilder& builder;
  Scope* outer;  // nullptr: nothing is visible from outside
  std::unordered_map<std::string_view, Value*> values;
  Values captured;  // values of `outer`, one for each capture input

  /// The value of that name, capturing it when it lives outside; nullptr when there is none.
  Value* find(std::string_view name);
  /// Whether the name is an optional input that the caller of a function left out.
  bool is_absent(std::string_view name) const;
  /// Makes `value` of the outer scope an input of this region (or a constant of its own).
  Value* capture(Value* value);
};

/// A row of the operator table: how one ONNX operator becomes pages.
struct Row {
  std::string_view domain, op_type;
  Values (*convert)(Context&) = nullptr;
  std::string_view page = {};  // for conversions that only rename
  Attrs attrs = {};            // attributes that go over unchanged, with ONNX's defaults
  int first = 1;               // the version that introduced the operator
};

/// The row of an operator, or nullptr.
const Row* find_row(std::string_view domain, std::string_view op_type);
/// How many leading inputs must be there in every version of the operator.
int required_inputs(const Row& row);
/// Names of all operators of a domain, sorted.
std::vector<std::string> operator_names(std::string_view domain);

/// A region and the outer values that its capture inputs stand for.
struct Region {
  std::unique_ptr<Graph> graph;
  Values captures;
};

class Context {
 public:
  Context(Importer& importer, Scope& scope, const Frame* frame, const NodeProto& node,
          const Row& row, int version, Values inputs);

  // ---- the node
  const NodeProto& node() const { return node_; }
  const Row& row() const { return row_; }
  int version() const { return version_; }
  /// "node enc.3/proj, model.onnx #418"
  std::string place() const;
  Importer& importer() { return importer_; }
  Scope& scope() { return scope_; }
  const Frame* frame() const { return frame_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(node_.outputs.size()); }
  bool has(int i) const { return in(i) != nullptr; }
  Value* in(int i) const {
    return i < num_inputs() ? inputs_[static_cast<std::size_t>(i)] : nullptr;
  }
  const Values& inputs() const { return inputs_; }
  /// Whether output i is named, so that something may use it.
  bool wants(int i) const {
    return i < num_outputs() && !node_.outputs[static_cast<std::size_t>(i)].empty();
  }
  DType dtype(int i) const { return in(i)->type().dtype(); }

  // ---- attributes; a wrong kind fails the node, absence gives the fallback
  bool has_attr(std::string_view name) { return attr(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  bool flag(std::string_view name, bool fallback) { return integer(name, fallback ? 1 : 0) != 0; }
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string fallback);
  std::vector<std::int64_t> integers(std::string_view name,
                                     std::vector<std::int64_t> fallback = {});
  std::vector<double> reals(std::string_view name, std::vector<double> fallback = {});
  std::vector<std::string> texts(std::string_view name, std::vector<std::string> fallback = {});
  /// Element type from a TensorProto.DataType number.
  DType element_type(std::string_view name, DType fallback);
  /// An undefined tensor when absent.
  Tensor tensor(std::string_view name);
  Tensor sparse_tensor(std::string_view name);
  /// The undefined type when absent.
  Type type(std::string_view name);
  const GraphProto* graph(std::string_view name);
  /// Attributes that carry no meaning for the result.
  void ignore(std::initializer_list<std::string_view> names);
  /// The node's attribute, after looking through the function's; nullptr when absent.
  const AttributeProto* attr(std::string_view name);
  /// Fails when the file holds attributes that the conversion did not read.
  void refuse_unread_attributes();

  // ---- building; after a failure every call gives values of undefined type
  Builder& builder() { return scope_.builder; }
  bool failed() const { return !scope_.builder.status().ok(); }
  /// Fails the node; the returned values have undefined types.
  Values fail(Error error);
  Value* fail_value(Error error) { return fail(std::move(error))[0]; }
  /// Output 0 of a page.
  Value* op(std::string_view page, Values inputs, Attrs attrs = {}) {
    return all(page, std::move(inputs), std::move(attrs))[0];
  }
  /// Every output of a page.
  Values all(std::string_view page, Values inputs, Attrs attrs = {}, int num_outputs = -1,
             std::vector<std::unique_ptr<Graph>> regions = {});

  Value* constant(Tensor t) { return builder().constant(std::move(t)); }
  Value* ints(std::vector<std::int64_t> values) { return constant(Tensor::vector(values)); }
  Value* integer_scalar(std::int64_t v) { return constant(Tensor::scalar<std::int64_t>(v)); }
  /// A scalar; fails for types without plain numbers.
  Value* number(double v, DType dtype);
  Value* number(double v, const Value* like) {
    return number(v, like ? like->type().dtype() : DType::undefined);
  }
  Value* cast(Value* x, DType to);
  Value* cast_like(Value* x, const Value* like) {
    return cast(x, like ? like->type().dtype() : DType::undefined);
  }
  Value* shape(Value* x) { return op("shape", {x}); }
  /// The size of one axis (negative: from the end) as an i64[1] value.
  Value* size_of_axis(Value* x, std::int64_t axis);
  Value* reshape(Value* x, std::vector<std::int64_t> dims) {
    return op("reshape", {x, ints(std::move(dims))});
  }
  Value* reshape_like(Value* x, Value* like) {
    return op("reshape", {x, shape(like)}, {{"allow_zero", true}});
  }
  Value* unsqueeze(Value* x, std::vector<std::int64_t> axes) {
    return axes.empty() ? x : op("unsqueeze", {x, ints(std::move(axes))});
  }
  Value* squeeze(Value* x, std::vector<std::int64_t> axes) {
    return op("squeeze", {x, ints(std::move(axes))});
  }
  Value* transpose(Value* x, std::vector<std::int64_t> perm) {
    return op("transpose", {x}, {{"perm", std::move(perm)}});
  }
  Value* concat(Values xs, std::int64_t axis) {
    return xs.size() == 1 ? xs[0] : op("concat", std::move(xs), {{"axis", axis}});
  }
  /// x[..., start:end, ...] along one axis.
  Value* slice(Value* x, std::int64_t axis, std::int64_t start, std::int64_t end) {
    return op("slice", {x, ints({start}), ints({end}), ints({axis})});
  }
  /// Gives x trailing axes of size 1 until it has `ndim` dims.
  Value* pad_ndim(Value* x, int ndim);
  /// x with the dims of `shape` (an i64 vector value), all elements `value`.
  Value* full(Value* shape, double value, DType dtype) {
    return op("expand", {number(value, dtype), shape});
  }

  // ---- what is known when the graph is built
  std::optional<Tensor> known(const Value* v) const;
  std::optional<std::vector<std::int64_t>> known_integers(const Value* v) const;
  /// Rank of a value; fails the node (and gives 0) when it is unknown.
  int ndim(const Value* v);

  /// x, with its rank made known where inference lost it (branches of an If that differ): the sizes
  /// stay, and another rank at run time is an error.
  Value* with_ndim(Value* x, int ndim);

  // ---- subgraphs
  /// Builds the graph attribute as a region whose own inputs have `types`. `seed` are outer values
  /// that become the first captures (branches of one If share their list).
  Region region(std::string_view attribute, const Types& types, const Values& seed = {});

 private:
  void mark_read(std::string_view name);
  const AttributeProto* typed(std::string_view name, AttributeType type);
  template <class T>
  T take(Result<T> result);
  Importer& importer_;
  Scope& scope_;
  const Frame* frame_;
  const NodeProto& node_;
  const Row& row_;
  int version_;
  Values inputs_;
  std::vector<std::string_view> read_;  // attribute names that were asked for
};

/// Zero points of one element take the rank of their scale, as the pages want it.
Value* shaped_like_scale(Context& c, Value* zero_point, const Value* scale);

// Conversions that several files use.
/// The page of the row on the same inputs, with the row's attributes.
Values renamed(Context& c);
/// The same for operators whose inputs broadcast, with the axis attribute of opset < 7.
Values renamed_binary(Context& c);

// Tables of operators by kind; each file of conversions has one.
using Rows = std::vector<Row>;
void add_math_rows(Rows& rows);
void add_reduce_rows(Rows& rows);
void add_shape_rows(Rows& rows);
void add_index_rows(Rows& rows);
void add_nn_rows(Rows& rows);
void add_attention_rows(Rows& rows);
void add_resize_rows(Rows& rows);
void add_quant_rows(Rows& rows);
void add_random_rows(Rows& rows);
void add_signal_rows(Rows& rows);
void add_text_rows(Rows& rows);
void add_sequence_rows(Rows& rows);
void add_control_rows(Rows& rows);
void add_ml_rows(Rows& rows);
void add_training_rows(Rows& rows);
void add_contrib_rows(Rows& rows);

}  // namespace tenon::onnx
