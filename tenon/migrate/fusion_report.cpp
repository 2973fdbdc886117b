// Fused nodes and the boundaries between kernels.
#include "tenon/migrate/fusion_report.h"

#include <algorithm>

#include "tenon/ir/operator.h"

namespace tenon::migrate {
namespace {

constexpr std::size_t kMaxGroup = 64;  // operators that passes put into one kernel

std::string label_of(const Node& n) {
  return n.name().empty() ? std::string(n.op().name) : n.name();
}

bool is_fused(const Node& n) { return n.op().name == "fused" && !n.regions().empty(); }

// Elementwise operators, or a group of nothing else.
bool is_elementwise(const Node& n) {
  if (!is_fused(n)) return n.op().has(Trait::elementwise);
  for (const Node* inner : n.regions()[0]->nodes())
    if (!is_elementwise(*inner)) return false;
  return true;
}

// A node whose kernel computes, so that a step more might be done on its way out.
bool computes(const Node& n) {
  return is_fused(n) || n.op().has(Trait::elementwise) || n.op().has(Trait::reduction) ||
         n.op().has(Trait::contraction);
}

std::size_t operators_in(const Node& n) {
  return is_fused(n) ? static_cast<std::size_t>(n.regions()[0]->num_nodes()) : 1;
}

std::string shape_text(const Value& v) { return v.type().text(); }

bool is_output(const Graph& graph, const Value* v) {
  return std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
}

bool has_code(const Value& v) {
  return v.type().is_tensor() && v.type().ranked() && v.type().dtype() != DType::string &&
         !is_complex(v.type().dtype());
}

// Why `reader` is no step of the kernel that makes `v`.
std::string reason_apart(const Graph& graph, const Node& maker, const Value& v,
                         const Node& reader) {
  if (is_output(graph, &v)) return "its result is an output of the graph, so it is written anyway";
  if (!has_code(v) || !has_code(*reader.output(0)))
    return "text, complex numbers and tensors without rank have no generated code";
  if (v.uses().size() > 1)
    return fmt::format("{} readers take its result: inside of one, it would be computed again",
                       v.uses().size());
  if (!(v.type().shape() == reader.output(0)->type().shape()))
    return fmt::format("{} is read as part of {}: joined, it would be computed once for each use",
                       shape_text(v), shape_text(*reader.output(0)));
  if (operators_in(maker) + operators_in(reader) > kMaxGroup)
    return fmt::format("together they hold {} operators, a kernel at most {}",
                       operators_in(maker) + operators_in(reader), kMaxGroup);
  if (maker.outputs().size() > 1) return "the earlier one has several results";
  if (!is_elementwise(maker))
    return fmt::format("the kernel of {} writes its result without a further step",
                       is_fused(maker) ? "this group" : maker.op().name);
  return "no pass joins these two";
}

void collect(const Graph& graph, const std::map<std::string, std::string>& kernels,
             std::vector<Fusion>& out) {
  const auto kernel_of = [&](const Node& n) {
    const auto it = kernels.find(label_of(n));
    return it == kernels.end() ? std::string("interpreter") : it->second;
  };
  for (const Node* n : graph.nodes()) {
    if (is_fused(*n)) {
      Fusion f{true, label_of(*n), kernel_of(*n), {}, {}, {}};
      for (const Node* inner : n->regions()[0]->nodes()) f.operators.emplace_back(inner->op().name);
      out.push_back(std::move(f));
    } else {
      for (const auto& r : n->regions()) collect(*r, kernels, out);
    }
    if (!is_elementwise(*n) || n->outputs().empty()) continue;
    for (const Value* v : n->inputs()) {
      const Node* maker = v ? v->producer() : nullptr;
      if (maker && computes(*maker))
        out.push_back({false,
                       label_of(*maker),
                       kernel_of(*maker),
                       {},
                       label_of(*n),
                       reason_apart(graph, *maker, *v, *n)});
    }
  }
}

}  // namespace

std::vector<Fusion> fusions_of(const Graph& graph, const engine::CompileReport& report) {
  const std::map<std::string, std::string> kernels(report.mapping.begin(), report.mapping.end());
  std::vector<Fusion> out;
  collect(graph, kernels, out);
  return out;
}

}  // namespace tenon::migrate
