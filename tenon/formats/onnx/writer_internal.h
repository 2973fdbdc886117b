// The writer: one node of a graph to one or more NodeProtos.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "tenon/formats/onnx/wire_writer.h"
#include "tenon/formats/onnx/write.h"
#include "tenon/ir/operator.h"

namespace tenon::onnx {

class NodeWriter;

/// How one page becomes an ONNX operator.
struct WriteRow {
  std::string_view page, op_type;
  int since = 1;  // operator set that first has this form
  std::vector<std::pair<std::string_view, std::string_view>> renames =
      {};                                  // attribute of the page -> of ONNX; "" drops it
  Status (*write)(NodeWriter&) = nullptr;  // instead of the plain translation
  std::string_view domain = {};
};
const WriteRow* find_write_row(std::string_view page);

/// TensorProto bytes; `location` not empty puts the data into an external file at `offset`.
WireWriter tensor_proto(const Tensor& t, std::string_view name, std::string_view location = {},
                        std::int64_t offset = 0);
/// Elements as ONNX packs them: types under eight bits share bytes.
std::string packed_elements(const Tensor& t);
WireWriter type_proto(const Type& type);

/// The model under construction.
class ModelWriter {
 public:
  /// `data_file` names the file for external weights; empty: everything stays inside.
  ModelWriter(const WriteOptions& options, std::string data_file)
      : options_(options), data_file_(std::move(data_file)) {}
  /// Nodes, initializers, inputs and outputs of a graph, as a GraphProto.
  WireWriter graph(const Graph& g, bool is_region);
  Result<std::string> model(const Graph& g);

  std::string& name_of(const Value* v) { return names_[v]; }
  std::string fresh_name(std::string_view stem);
  /// Names of nodes live apart from those of values; readers refuse two of one name.
  std::string fresh_node_name(std::string_view stem);
  void need(std::string_view domain, int version);
  void lose(std::string text) { written_.lost.push_back(std::move(text)); }
  void problem(Error e) { problems_.push_back(std::move(e)); }
  Written& written() { return written_; }
  /// Weights that go to the data file, with their places in it, in order.
  const std::vector<std::pair<const Tensor*, std::int64_t>>& external() const { return external_; }

 private:
  void name_values(const Graph& g, bool is_region);
  void add_constants(const Graph& g, WireWriter& out);
  const WriteOptions& options_;
  std::string data_file_;
  std::vector<std::pair<const Tensor*, std::int64_t>> external_;
  std::int64_t data_bytes_ = 0;
  std::unique_ptr<Graph> graph_;  // the copy that is written; external_ points into it
  Written written_;
  std::vector<Error> problems_;
  std::unordered_map<const Value*, std::string> names_;  // looked up only
  std::set<std::string, std::less<>> taken_, taken_nodes_;
  std::map<std::string, int, std::less<>> opsets_;
};

/// One node being written; conversions add NodeProtos through it.
class NodeWriter {
 public:
  NodeWriter(ModelWriter& model, const Node& node, WireWriter& graph)
      : model_(model), node_(node), graph_(graph) {}
  const Node& node() const { return node_; }
  ModelWriter& model() { return model_; }
  /// Attribute of the page, given or by default; nullptr when there is none.
  const Attr* attr(std::string_view name) const;
  std::string input(int i) const;
  std::string output(int i) const;
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;
  Type in_type(int i) const { return node_.input(i) ? node_.input(i)->type() : Type(); }
  /// Emits one NodeProto; `attributes` are AttributeProto messages.
  void emit(std::string_view op_type, const std::vector<std::string>& in,
            const std::vector<std::string>& out, const std::vector<WireWriter>& attributes = {},
            std::string_view domain = {});
  /// A new intermediate value.
  std::string temporary(std::string_view stem) { return model_.fresh_name(stem); }
  /// A small constant as a Constant node.
  std::string constant(const Tensor& t, std::string_view stem);
  /// The plain translation of a row: same inputs and outputs, attributes renamed.
  void translate(const WriteRow& row);
  WireWriter attribute(std::string_view name, const Attr& value);
  /// A region as a GraphProto; its first `own` inputs stay inputs, the rest are read from around.
  WireWriter region(int index, int own, int first_capture);

 private:
  ModelWriter& model_;
  const Node& node_;
  WireWriter& graph_;
};

}  // namespace tenon::onnx
