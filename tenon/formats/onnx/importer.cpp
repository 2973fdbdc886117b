// From a parsed model to a graph: inputs, initializers, nodes in order, outputs, problems.
#include <algorithm>
#include <functional>
#include <set>

#include "tenon/base/closest.h"
#include "tenon/base/interrupt.h"
#include "tenon/formats/onnx/importer_internal.h"
#include "tenon/formats/onnx/names_internal.h"
#include "tenon/ops/registry.h"

namespace tenon::onnx {
namespace {

constexpr std::int64_t kMaxProblems = 500;  // kept with their text; the rest is counted
constexpr std::size_t kMaxWarnings = 200;

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  return fmt::format("{}\n{}\n{}", domain, name, overload);
}

}  // namespace

Importer::Importer(const ModelProto& model, DataFiles& files, const ReadOptions& options,
                   std::string file)
    : model_(model),
      files_(files),
      options_(options),
      file_(std::move(file)),
      graph_(std::make_unique<Graph>()) {
  for (const FunctionProto& f : model.functions)
    functions_.emplace(function_key(f.domain, f.name, f.overload), &f);
  for (const ValueInfoProto& v : model.graph.value_infos) types_.emplace(v.name, v.type);
  for (const ValueInfoProto& v : model.graph.outputs) types_.emplace(v.name, v.type);
}

void Importer::report(Error error, std::string_view place) {
  if (++num_problems_ > kMaxProblems) return;
  if (!place.empty() && error.where.find(place) == std::string::npos) error.at(place);
  if (error.help.empty()) error.help = "export the model again, or repair this node";
  problems_.push_back(std::move(error));
}

void Importer::warn(std::string text) {
  if (warnings_.size() < kMaxWarnings) warnings_.push_back(std::move(text));
}

Result<Imported> Importer::run() {
  check_header();
  GraphBuilder builder(*graph_, ops::table());
  Scope scope(*graph_, builder, nullptr);
  if (!model_.graph.name.empty()) graph_->set_name(std::string(model_.graph.name));
  add_initializers(model_.graph, scope);
  add_inputs(scope);
  if (fits_when_inlined()) import_nodes(model_.graph.nodes, scope, nullptr);
  TENON_TRY(check_interrupt());
  add_outputs(scope);
  if (!problems_.empty()) {
    Error first = std::move(problems_.front());
    first.others.assign(std::make_move_iterator(problems_.begin() + 1),
                        std::make_move_iterator(problems_.end()));
    if (num_problems_ > kMaxProblems)
      first.others.push_back(invalid("{} more problems", num_problems_ - kMaxProblems).at(file_));
    return first;
  }
  drop_unused_constants();
  Imported out;
  for (const OpsetImport& o : model_.opsets) out.opsets.emplace(o.domain, o.version);
  out.ir_version = model_.ir_version;
  out.producer = fmt::format("{}{}{}", model_.producer_name,
                             model_.producer_version.empty() ? "" : " ", model_.producer_version);
  out.data_files = files_.opened();
  auto& metadata = graph_->metadata();
  if (!out.producer.empty()) metadata.emplace("producer", out.producer);
  metadata.emplace("opset", std::to_string(version_of("", nullptr).value_or(1)));
  for (const auto& [key, value] : model_.metadata) metadata.emplace(key, value);
  out.graph = std::move(graph_);
  report_baked_batch(out);
  out.warnings = std::move(warnings_);
  return out;
}

void Importer::check_header() {
  const std::string help = "give a file that an ONNX exporter wrote";
  if (!model_.has_graph) report(invalid("the file holds no graph").with_help(help), file_);
  if (model_.has_graph && model_.ir_version <= 0)
    report(invalid("the file has no IR version").with_help(help), file_);
  if (model_.opsets.empty() && model_.ir_version >= 3)
    report(invalid("the file imports no operator set").with_help(help), file_);
  std::set<std::string_view> seen;
  for (const OpsetImport& o : model_.opsets) {
    if (!seen.insert(o.domain).second)
      report(invalid("operator set '{}' is imported twice", o.domain), file_);
    if (o.version < 1)
      report(invalid("operator set '{}' has version {}", o.domain, o.version), file_);
    if (o.domain.empty() && o.version > kNewestOpset)
      report(unsupported("the file uses operator set {} but the newest known one is {}", o.version,
                         kNewestOpset)
                 .with_help(fmt::format("export the model for opset {} or older", kNewestOpset)),
             file_);
  }
}

void Importer::add_initializers(const GraphProto& g, Scope& scope) {
  const auto add = [&](std::string_view name, Result<Tensor> tensor) {
    if (!tensor.ok()) return report(std::move(tensor).error(), file_);
    if (!scope.values.emplace(name, scope.graph.add_constant(std::string(name), std::move(*tensor)))
             .second)
      report(invalid("two initializers are named '{}'", name), file_);
  };
  for (const TensorProto& t : g.initializers) add(t.name, read_tensor(t, files_));
  for (const SparseTensorProto& t : g.sparse_initializers)
    add(t.values.name, read_sparse_tensor(t, files_));
}

void Importer::add_inputs(Scope& scope) {
  std::set<std::string_view> seen;
  for (const ValueInfoProto& v : model_.graph.inputs) {
    if (!seen.insert(v.name).second) {
      report(invalid("two graph inputs are named '{}'", v.name), file_);
      continue;
    }
    if (scope.values.contains(v.name)) continue;  // a weight that older files also list as an input
    auto type = parse_type(v.type, v.name);
    if (type.ok() && !type->defined()) type = invalid("graph input '{}' has no type", v.name);
    if (!type.ok()) {
      report(std::move(type).error(), file_);
      type = Type::unranked(DType::f32);
    }
    auto sized = input_type(v.name, std::move(*type), options_);
    if (!sized.ok()) {
      report(std::move(sized).error(), file_);
      continue;
    }
    scope.values.emplace(
        v.name, graph_->add_input(std::string(v.name), with_free_batch(v.name, std::move(*sized))));
  }
  for (const auto& [name, dims] : options_.shapes)
    if (!seen.contains(name))
      report(invalid("a shape is given for '{}', which is no input of the model", name), file_);
}

void Importer::add_outputs(Scope& scope) {
  std::set<std::string_view> seen;
  for (const ValueInfoProto& v : model_.graph.outputs) {
    if (!seen.insert(v.name).second) {
      report(invalid("two graph outputs are named '{}'", v.name), file_);
      continue;
    }
    Value* value = scope.find(v.name);
    if (!value) {
      report(invalid("graph output '{}' is made by no node", v.name), file_);
      continue;
    }
    graph_->add_output(value, std::string(v.name));
    auto declared = parse_type(v.type, v.name);
    if (!declared.ok()) report(std::move(declared).error(), file_);
  }
}

void Importer::check_declared(const Value* value, const Type& declared, std::string_view name) {
  const Type& found = value->type();
  if (!declared.defined() || !declared.is_tensor() || !found.is_tensor()) return;
  bool differs = declared.dtype() != found.dtype();
  if (declared.ranked() && found.ranked()) {
    differs |= declared.ndim() != found.ndim();
    for (int i = 0; !differs && i < found.ndim(); ++i)
      differs = same(declared.dim(i), found.dim(i)) == Truth::no;
  }
  if (differs)
    warn(fmt::format("output '{}' is declared {} but computed {}", name, declared.text(),
                     found.text()));
}

void Importer::drop_unused_constants() {
  for (Value* v : graph_->constants())
    if (v->uses().empty() &&
        std::find(graph_->outputs().begin(), graph_->outputs().end(), v) == graph_->outputs().end())
      graph_->erase_constant(v);
}

namespace {

// Nodes of a list after inlining, by the sizes of the functions it calls; subgraphs count too.
template <class SizeOf>
std::int64_t expanded_size(const std::vector<NodeProto>& nodes, const SizeOf& size_of) {
  std::int64_t total = 0;
  for (const NodeProto& n : nodes) {
    total += 1 + size_of(n);
    for (const AttributeProto& a : n.attributes)
      for (const auto& g : a.graphs) total += expanded_size(g->nodes, size_of);
    total = std::min(total, kMaxNodes + 1);
  }
  return total;
}

}  // namespace

// Functions that call each other twice grow as 2^depth: counted before anything is built. Recursion
// is told where it is met.
bool Importer::fits_when_inlined() {
  std::map<const FunctionProto*, std::int64_t> sizes;
  std::function<std::int64_t(const NodeProto&)> size_of = [&](const NodeProto& n) -> std::int64_t {
    const FunctionProto* f = function_of(n);
    if (!f) return 0;
    const auto [it, is_new] = sizes.emplace(f, 0);
    if (is_new && sizes.size() <= static_cast<std::size_t>(kMaxDepth) * 16) {
      const std::int64_t size = expanded_size(f->nodes, size_of);
      sizes[f] = size;
      return size;
    }
    return it->second;
  };
  if (expanded_size(model_.graph.nodes, size_of) <= kMaxNodes) return true;
  report(unsupported("the model has more than {} nodes once its functions are inlined", kMaxNodes),
         file_);
  return false;
}

// ---- nodes ------------------------------------------------------------------------------------

void Importer::import_nodes(const std::vector<NodeProto>& nodes, Scope& scope, const Frame* frame) {
  for (int i : order(nodes, frame)) {
    if (--nodes_left_ < 0) {
      if (nodes_left_ == -1)
        report(unsupported("the model has more than {} nodes once its functions are inlined",
                           kMaxNodes),
               file_);
      return;
    }
    if (nodes_left_ % 256 == 0 && !check_interrupt().ok()) return;
    import_node(nodes[static_cast<std::size_t>(i)], scope, frame);
  }
}

std::string Importer::place_of_node(const NodeProto& node, const Frame* frame) const {
  const std::string label = (frame ? frame->prefix : std::string()) + node_label(node);
  return place_of(label, Origin{file_, node.index, scope_of(node, label)});
}

void Importer::import_node(const NodeProto& node, Scope& scope, const Frame* frame) {
  const std::string prefix = frame ? frame->prefix : std::string();
  const std::string label = prefix + node_label(node);
  Origin origin{file_, node.index, scope_of(node, label)};
  const std::string place = place_of(label, origin);
  Values inputs;
  if (!gather_inputs(node, scope, place, inputs)) return poison(node, scope);
  if (const FunctionProto* f = function_of(node))
    return call_function(*f, node, scope, frame, inputs, place);
  scope.builder.set_origin(label, std::move(origin));
  convert(node, scope, frame, std::move(inputs), place);
}

bool Importer::gather_inputs(const NodeProto& node, Scope& scope, const std::string& place,
                             Values& inputs) {
  bool complete = true;
  for (std::string_view name : node.inputs) {
    Value* v = name.empty() ? nullptr : scope.find(name);
    if (!name.empty() && !v && !scope.is_absent(name))
      report(invalid("{}: input '{}' is made by no node, initializer or graph input", node.op_type,
                     name),
             place);
    complete &= v ? v->type().defined() : name.empty() || scope.is_absent(name);
    inputs.push_back(v);
  }
  return complete;
}

// Outputs of a node that failed: values of undefined type, so that each problem is told once.
void Importer::poison(const NodeProto& node, Scope& scope) {
  scope.builder.fail(invalid("an input is undefined"));
  const Values outputs = scope.builder.call(*ops::table().find("reshape"), {}, {}, {},
                                            std::max(1, static_cast<int>(node.outputs.size())));
  static_cast<void>(scope.builder.take_status());
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) scope.values.try_emplace(node.outputs[i], outputs[i]);
}

void Importer::convert(const NodeProto& node, Scope& scope, const Frame* frame, Values inputs,
                       const std::string& place) {
  const auto version = version_of(node.domain, frame);
  const Row* row = find_row(node.domain, node.op_type);
  if (!version)
    report(invalid("{} is of operator set '{}', which the file does not import", node.op_type,
                   node.domain),
           place);
  else if (!row)
    unknown_operator(node, *version, place);
  else if (*version < row->first)
    report(invalid("{} does not exist in version {} of operator set '{}'", node.op_type, *version,
                   node.domain),
           place);
  if (!version || !row || *version < row->first) return poison(node, scope);
  for (int i = 0; i < required_inputs(*row); ++i)
    if (i >= static_cast<int>(inputs.size()) || !inputs[static_cast<std::size_t>(i)]) {
      report(invalid("{}: input {} is absent", node.op_type, i), place);
      return poison(node, scope);
    }
  Context c(*this, scope, frame, node, *row,
            static_cast<int>(std::min<std::int64_t>(*version, 1000)), std::move(inputs));
  const Values outputs = row->convert(c);
  c.refuse_unread_attributes();
  Status status = scope.builder.take_status();
  if (!status.ok()) {
    Error e = std::move(status).error();
    if (e.message.empty()) return poison(node, scope);  // a region's problems are told already
    if (!e.message.starts_with(node.op_type))
      e.message = fmt::format("{}: {}", node.op_type, e.message);
    report(std::move(e), place);
    return poison(node, scope);
  }
  define(node, outputs, scope, frame, place);
}

void Importer::define(const NodeProto& node, const Values& outputs, Scope& scope,
                      const Frame* frame, const std::string& place) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (name.empty()) continue;
    if (i >= outputs.size() || !outputs[i]) {
      report(invalid("{} has no output {} ('{}')", node.op_type, i, name), place);
      continue;
    }
    if (!scope.values.emplace(name, outputs[i]).second)
      report(invalid("value '{}' is made a second time by {}", name, node.op_type), place);
    if (outputs[i]->name().empty())
      outputs[i]->set_name((frame ? frame->prefix : std::string()) + std::string(name));
    if (!frame && &scope.graph == graph_.get()) hint_rank(outputs[i], name);
  }
}

// Inference may lose the rank; the exporter's own note is taken as a hint then, sizes are not.
void Importer::hint_rank(Value* value, std::string_view name) {
  const auto it = types_.find(name);
  if (it == types_.end() || !value->type().is_tensor() || value->kind() != Value::Kind::result)
    return;
  auto declared = parse_type(it->second, name);
  if (!declared.ok() || !declared->is_tensor()) return;
  if (value->type().ranked()) return check_declared(value, *declared, name);
  if (!declared->ranked() || declared->dtype() != value->type().dtype()) return;
  Shape shape;
  for (int i = 0; i < declared->ndim(); ++i) shape.push_back(graph_->fresh_symbol("hint"));
  value->set_type(Type(declared->dtype(), std::move(shape)));
}

std::optional<std::int64_t> Importer::version_of(std::string_view domain,
                                                 const Frame* frame) const {
  const auto& opsets = frame && frame->function ? frame->function->opsets : model_.opsets;
  for (const OpsetImport& o : opsets)
    if (o.domain == domain) return o.version;
  if (frame)
    return version_of(domain, frame->caller);  // functions may leave out what the model says
  if (domain.empty()) return model_.opsets.empty() ? std::optional<std::int64_t>(1) : std::nullopt;
  if (domain == "com.microsoft") return 1;  // has only ever had one version
  return std::nullopt;
}

void Importer::unknown_operator(const NodeProto& node, std::int64_t version,
                                const std::string& place) {
  const auto known = operator_names(node.domain);
  Error e = known.empty() ? unsupported("operator {} is of the unknown domain '{}'", node.op_type,
                                        node.domain)
                          : unsupported("operator {} of '{}' version {} is unknown", node.op_type,
                                        node.domain.empty() ? "ai.onnx" : node.domain, version);
  const std::string guess = did_you_mean(node.op_type, known);
  e.help = guess.empty() ? "replace the operator by standard ones when exporting, or add it to the "
                           "file as a model-local function"
                         : guess;
  report(std::move(e), place);
}

// ---- functions --------------------------------------------------------------------------------

const FunctionProto* Importer::function_of(const NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(function_key(node.domain, node.op_type, node.overload));
  return it == functions_.end() ? nullptr : it->second;
}

const AttributeProto* Importer::resolve(const NodeProto& node, std::string_view name,
                                        const Frame* frame) const {
  for (const AttributeProto& a : node.attributes) {
    if (a.name != name) continue;
    if (a.reference.empty()) return &a;
    if (!frame) return nullptr;
    for (const auto& [key, value] : frame->attributes)
      if (key == a.reference) return value;
    return nullptr;
  }
  return nullptr;
}

void Importer::call_function(const FunctionProto& f, const NodeProto& node, Scope& scope,
                             const Frame* frame, const Values& inputs, const std::string& place) {
  Frame inner{&f,
              frame,
              {},
              fmt::format("{}{}/", frame ? frame->prefix : "", node_label(node)),
              frame ? frame->depth + 1 : 1};
  for (const Frame* outer = frame; outer; outer = outer->caller)
    if (outer->function == &f) {
      report(invalid("function {} calls itself", f.name), place);
      return poison(node, scope);
    }
  if (inner.depth > kMaxDepth) {
    report(invalid("functions call each other more than {} deep", kMaxDepth), place);
    return poison(node, scope);
  }
  if (inputs.size() > f.inputs.size()) {
    report(invalid("function {} takes {} inputs but {} are given", f.name, f.inputs.size(),
                   inputs.size()),
           place);
    return poison(node, scope);
  }
  if (node.outputs.size() > f.outputs.size()) {
    report(invalid("function {} gives {} outputs but {} are taken", f.name, f.outputs.size(),
                   node.outputs.size()),
           place);
    return poison(node, scope);
  }
  for (const AttributeProto& a : f.default_attributes)
    if (!resolve(node, a.name, frame)) inner.attributes.emplace_back(a.name, &a);
  for (const AttributeProto& a : node.attributes)
    inner.attributes.emplace_back(a.name, resolve(node, a.name, frame));
  std::erase_if(inner.attributes, [](const auto& item) { return item.second == nullptr; });

  Scope body(scope.graph, scope.builder, nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) body.values.emplace(f.inputs[i], inputs[i]);
  for (std::size_t i = 0; i < f.inputs.size(); ++i)
    body.values.try_emplace(f.inputs[i], nullptr);  // absent optional inputs
  import_nodes(f.nodes, body, &inner);
  Values outputs;
  bool complete = true;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    Value* v = body.find(f.outputs[i]);
    if (!v) report(invalid("function {} makes no value '{}'", f.name, f.outputs[i]), place);
    complete &= v && v->type().defined();
    outputs.push_back(v);
  }
  if (!complete) return poison(node, scope);
  define(node, outputs, scope, frame, place);
}

// ---- regions ----------------------------------------------------------------------------------

Region Importer::build_region(const GraphProto& g, Scope& outer, const Frame* frame,
                              const Types& types, const Values& seed, std::string_view label) {
  Region region{std::make_unique<Graph>(std::string(g.name.empty() ? label : g.name)), {}};
  GraphBuilder builder(*region.graph, ops::table());
  Scope scope(*region.graph, builder, &outer);
  Values inputs;
  for (std::size_t i = 0; i < types.size() && i < g.inputs.size(); ++i) {
    auto declared = parse_type(g.inputs[i].type, g.inputs[i].name);
    inputs.push_back(
        region.graph->add_input(std::string(g.inputs[i].name),
                                types[i].defined() || !declared.ok() ? types[i] : *declared));
  }
  if (g.inputs.size() != types.size()) {
    outer.builder.fail(invalid("graph {} takes {} inputs but {} are given", g.name, g.inputs.size(),
                               types.size()));
    return region;
  }
  for (Value* v : seed) scope.capture(v);
  const Values outputs = import_body(g, scope, frame, inputs, outer.builder);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    region.graph->add_output(outputs[i], std::string(g.outputs[i].name));
  region.captures = scope.captured;
  return region;
}

Values Importer::import_body(const GraphProto& g, Scope& scope, const Frame* frame,
                             const Values& inputs, GraphBuilder& report_to) {
  if (inputs.size() != g.inputs.size()) {
    report_to.fail(invalid("graph {} takes {} inputs but {} are given", g.name, g.inputs.size(),
                           inputs.size()));
    return {};
  }
  const auto problems_before = num_problems_;
  for (std::size_t i = 0; i < inputs.size(); ++i) scope.values[g.inputs[i].name] = inputs[i];
  add_initializers(g, scope);
  import_nodes(g.nodes, scope, frame);
  Values outputs;
  for (const ValueInfoProto& v : g.outputs) {
    Value* value = scope.find(v.name);
    if (value)
      outputs.push_back(value);
    else
      report_to.fail(invalid("output '{}' of graph {} is made by no node", v.name, g.name));
  }
  if (num_problems_ != problems_before) report_to.fail(Error{});
  return outputs;
}

}  // namespace tenon::onnx
