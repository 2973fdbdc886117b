// The importer: walks the nodes of a model in a valid order and converts each, collecting problems.
#pragma once

#include <map>
#include <unordered_map>

#include "tenon/formats/onnx/context_internal.h"
#include "tenon/formats/onnx/read.h"
#include "tenon/formats/onnx/tensor_reader.h"

namespace tenon::onnx {

class Importer {
 public:
  Importer(const ModelProto& model, DataFiles& files, const ReadOptions& options, std::string file);
  /// Builds the graph; every problem in one error.
  Result<Imported> run();

  // ---- for conversions
  DataFiles& files() { return files_; }
  const ReadOptions& options() const { return options_; }
  /// The attribute `name` of a node, looking through references to the function's attributes.
  const AttributeProto* resolve(const NodeProto& node, std::string_view name,
                                const Frame* frame) const;
  Region build_region(const GraphProto& g, Scope& outer, const Frame* frame, const Types& types,
                      const Values& seed, std::string_view label);
  /// Imports the nodes of `g` into `scope` with its inputs bound to `inputs`. Problems fail
  /// `report_to` (silently: they are told already); the outputs then have undefined types.
  Values import_body(const GraphProto& g, Scope& scope, const Frame* frame, const Values& inputs,
                     GraphBuilder& report_to);
  void warn(std::string text);
  std::string place_of_node(const NodeProto& node, const Frame* frame) const;
  /// The shape for Reshape of x, with a baked batch freed when the options ask for it; notes the
  /// place.
  Value* freed_reshape(Context& c, Value* x, Value* shape);
  /// The same for shapes to expand to or to fill.
  Value* freed_target(Context& c, Value* shape);

 private:
  /// What is known of the model's batch while it is read.
  struct Batch {
    Dim declared;           // leading size in the file
    std::int64_t size = 0;  // its value, 0 when symbolic
    std::vector<std::string> inputs, places;
  };
  Type with_free_batch(std::string_view name, Type type);
  Dim batch_symbol() const;
  void report_baked_batch(Imported& out);
  using Producers = std::unordered_map<std::string_view, int>;
  void check_header();
  bool fits_when_inlined();
  void add_inputs(Scope& scope);
  void add_initializers(const GraphProto& g, Scope& scope);
  void add_outputs(Scope& scope);
  void import_nodes(const std::vector<NodeProto>& nodes, Scope& scope, const Frame* frame);
  std::vector<int> order(const std::vector<NodeProto>& nodes, const Frame* frame);
  void report_cycle(const std::vector<NodeProto>& nodes, const std::vector<int>& waiting,
                    const Frame* frame);
  void import_node(const NodeProto& node, Scope& scope, const Frame* frame);
  bool gather_inputs(const NodeProto& node, Scope& scope, const std::string& place, Values& inputs);
  void convert(const NodeProto& node, Scope& scope, const Frame* frame, Values inputs,
               const std::string& place);
  void call_function(const FunctionProto& f, const NodeProto& node, Scope& scope,
                     const Frame* frame, const Values& inputs, const std::string& place);
  void define(const NodeProto& node, const Values& outputs, Scope& scope, const Frame* frame,
              const std::string& place);
  void poison(const NodeProto& node, Scope& scope);
  std::optional<std::int64_t> version_of(std::string_view domain, const Frame* frame) const;
  const FunctionProto* function_of(const NodeProto& node) const;
  void unknown_operator(const NodeProto& node, std::int64_t version, const std::string& place);
  void report(Error error, std::string_view place);
  void check_declared(const Value* value, const Type& declared, std::string_view name);
  void hint_rank(Value* value, std::string_view name);
  void drop_unused_constants();

  const ModelProto& model_;
  DataFiles& files_;
  const ReadOptions& options_;
  std::string file_;
  std::unique_ptr<Graph> graph_;
  std::vector<Error> problems_;
  std::int64_t num_problems_ = 0;
  std::vector<std::string> warnings_;
  std::map<std::string, const FunctionProto*> functions_;  // domain, name and overload joined
  std::unordered_map<std::string_view, std::string_view> types_;  // value_info of the main graph
  std::int64_t nodes_left_ = kMaxNodes;
  std::optional<Batch> batch_;
};

}  // namespace tenon::onnx
