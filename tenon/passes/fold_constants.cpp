// fold_constants: what depends on constants alone is computed now, by the interpreter.
#include <algorithm>

#include "tenon/ops/interpreter.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool all_constant(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* v) { return !v || v->is_constant(); });
}

// A result of unknown or huge size stays computed: a small file must not grow without bound here.
// What is no larger than the constants it is made of (a turned weight) is never huge.
bool small_results(const Node& node, const PassContext& context) {
  std::int64_t given = 0;
  for (const Value* v : node.inputs())
    if (v) given += static_cast<std::int64_t>(v->tensor().bytes());
  return std::all_of(node.outputs().begin(), node.outputs().end(), [&](const Value* v) {
    if (!v->type().is_tensor() || !v->type().ranked()) return false;
    auto bytes = v->type().bytes().known();
    return bytes && *bytes <= std::max(context.max_folded_bytes, given);
  });
}

bool may_fold(const Node& node, const PassContext& context) {
  const Operator& op = node.op();
  if (op.has(Trait::random) || op.has(Trait::control_flow) || op.has(Trait::collective))
    return false;
  return all_constant(node) && small_results(node, context);
}

Tensor tensor_of(const std::vector<std::int64_t>& values, const Type& type,
                 const std::vector<std::int64_t>& dims) {
  return from_int64s(values, type.dtype(), dims);
}

// A small integer result whose elements inference knows already, whatever the inputs are.
std::optional<Tensor> known_contents(const Value* v) {
  if (!v->contents() || !v->type().is_tensor()) return std::nullopt;
  auto dims = constant_dims(v->type().shape());
  std::vector<std::int64_t> values;
  for (const Dim& d : *v->contents()) {
    if (!d.is_constant()) return std::nullopt;
    values.push_back(d.value());
  }
  if (!dims || num_elements(*dims) != static_cast<std::int64_t>(values.size())) return std::nullopt;
  return tensor_of(values, v->type(), *dims);
}

bool has_reader(const Graph& graph, const Value* v) {
  return !v->uses().empty() ||
         std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
}

}  // namespace

Result<int> fold_constants(Graph& graph, const PassContext& context) {
  int folded = 0;
  for (Node* node : graph.nodes()) {
    if (node->outputs().size() == 1 && has_reader(graph, node->output(0))) {
      if (auto known = known_contents(node->output(0))) {
        graph.replace_uses(node->output(0),
                           graph.add_constant(node->output(0)->name(), std::move(*known)));
        graph.erase(node);
        ++folded;
        continue;
      }
    }
    if (!may_fold(*node, context)) continue;
    Datums inputs;
    for (const Value* v : node->inputs()) inputs.push_back(v ? Datum(v->tensor()) : Datum());
    auto outputs = ops::interpret(*node, inputs);
    if (!outputs.ok()) continue;  // the run will say what is wrong, when it gets there
    if (!std::all_of(outputs->begin(), outputs->end(),
                     [](const Datum& d) { return d.is_tensor(); }))
      continue;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      Value* v = node->output(static_cast<int>(i));
      if (has_reader(graph, v))
        graph.replace_uses(v, graph.add_constant(v->name(), (*outputs)[i].tensor()));
    }
    graph.erase(node);
    ++folded;
  }
  return folded;
}

}  // namespace tenon::passes
