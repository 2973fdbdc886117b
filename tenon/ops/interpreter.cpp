// The interpreter: scalar, eval or decomposition, and graphs node by node.
#include "tenon/ops/interpreter.h"

#include <algorithm>

#include "tenon/base/interrupt.h"
#include "tenon/ir/builder.h"
#include "tenon/ops/loops.h"
#include "tenon/ops/registry.h"

namespace tenon::ops {
namespace {

Result<Datums> run_scalar(const Call& c, const Datums& inputs) {
  Exprs x;
  std::vector<Tensor> tensors;
  Dims out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_absent()) {
      x.emplace_back();
      tensors.emplace_back();
      continue;
    }
    const Tensor& t = inputs[i].tensor();
    x.push_back(Expr::input(static_cast<int>(i), t.dtype()));
    tensors.push_back(t);
    out = broadcast_dims(out, t.dims());
  }
  return Datums{Datum(evaluate_scalar(c.op().scalar(c, x), tensors, out))};
}

// A graph holding only this call's decomposition on inputs of the given concrete values.
Result<Datums> run_decomposition(const Node& node, const Datums& inputs) {
  Graph graph("decomposition");
  GraphBuilder builder(graph, table());
  Values values;
  Datums fed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_absent()) {
      values.push_back(nullptr);
      continue;
    }
    if (!inputs[i].is_tensor())
      return unsupported("{}: a decomposition takes tensors only", node.op().name);
    // As constants: decompositions may ask for sizes and values, and here all are known.
    values.push_back(builder.constant(inputs[i].tensor()));
  }
  // The composed node itself is built first so that its page sees concrete types through a Call.
  std::vector<std::unique_ptr<Graph>> regions;
  for (const auto& r : node.regions()) regions.push_back(r->clone());
  Values outs = builder.call(node.op(), values, node.attrs(), std::move(regions),
                             static_cast<int>(node.outputs().size()));
  TENON_TRY(Status(builder.take_status()));
  Node* whole = outs[0]->producer();
  const Values parts = node.op().decompose(builder, Call(*whole));
  TENON_TRY(Status(builder.take_status()));
  TENON_CHECK(parts.size() >= outs.size(), "decomposition of {} gives {} of {} outputs",
              node.op().name, parts.size(), outs.size());
  graph.erase(whole);
  for (std::size_t i = 0; i < outs.size() && i < parts.size(); ++i)
    if (parts[i]) graph.add_output(parts[i], fmt::format("y{}", i));
  Datums found = TENON_TRY(interpret(graph, {}));
  Datums all;
  std::size_t k = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    all.push_back(parts[i] ? std::move(found[k++]) : Datum());
  return all;
}

// Scalar expressions compute with real numbers; strings, complex numbers and sequences go to
// `eval`.
bool is_real(const Datum& d) {
  return d.is_absent() ||
         (d.is_tensor() && d.tensor().dtype() != DType::string && !is_complex(d.tensor().dtype()));
}

bool scalar_speaks(const Operator& op, const Datums& inputs) {
  return op.scalar && (!op.eval || std::all_of(inputs.begin(), inputs.end(), is_real));
}

Result<Datums> dispatch(const Node& node, const Datums& inputs, const RegionRunner& runner) {
  const Call call(node, inputs);
  if (scalar_speaks(node.op(), inputs)) return run_scalar(call, inputs);
  if (node.op().eval) return node.op().eval(EvalCall{call, inputs, runner});
  TENON_CHECK(node.op().decompose, "{} has no meaning", node.op().name);
  return run_decomposition(node, inputs);
}

// How many uses of each value are left, so that values die early.
std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> left(static_cast<std::size_t>(graph.num_value_ids()), 0);
  for (Node* n : graph.nodes())
    for (Value* v : n->inputs())
      if (v) ++left[static_cast<std::size_t>(v->id())];
  for (Value* v : graph.outputs()) ++left[static_cast<std::size_t>(v->id())];
  return left;
}

}  // namespace

Result<Datums> interpret(const Node& node, const Datums& inputs) {
  static const RegionRunner runner = [](const Graph& region, Datums in) {
    return interpret(region, in);
  };
  return interpret(node, inputs, runner);
}

Result<Datums> interpret(const Node& node, const Datums& inputs, const RegionRunner& run_region) {
  Datums padded = inputs;
  padded.resize(std::max(inputs.size(), node.inputs().size()));
  return placed(dispatch(node, padded, run_region), [&] { return node.place(); });
}

Result<Datums> interpret_decomposition(const Node& node, const Datums& inputs) {
  return placed(run_decomposition(node, inputs), [&] { return node.place(); });
}

Result<Datums> interpret(const Graph& graph, const Datums& inputs) {
  if (inputs.size() != graph.inputs().size())
    return invalid("graph {} takes {} inputs but {} are given", graph.name(), graph.inputs().size(),
                   inputs.size());
  Datums values(static_cast<std::size_t>(graph.num_value_ids()));
  std::vector<int> left = use_counts(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<std::size_t>(graph.inputs()[i]->id())] = inputs[i];
  const auto read = [&](const Value* v) -> Datum {
    if (v->is_constant()) return Datum(v->tensor());
    Datum& slot = values[static_cast<std::size_t>(v->id())];
    if (--left[static_cast<std::size_t>(v->id())] == 0) return std::exchange(slot, Datum());
    return slot;
  };
  for (Node* node : graph.nodes()) {
    TENON_TRY(check_interrupt());
    Datums in;
    for (const Value* v : node->inputs()) in.push_back(v ? read(v) : Datum());
    Datums out = TENON_TRY(interpret(*node, in));
    for (std::size_t i = 0; i < out.size() && i < node->outputs().size(); ++i)
      values[static_cast<std::size_t>(node->outputs()[i]->id())] = std::move(out[i]);
  }
  Datums results;
  for (const Value* v : graph.outputs()) results.push_back(read(v));
  return results;
}

}  // namespace tenon::ops
