// A graph of one node, compiled when its sizes are there.
#include "tenon/engine/late_kernel.h"

#include <algorithm>
#include <cstring>

#include "tenon/engine/engine.h"
#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/runtime/interpreted_launch.h"

namespace tenon::engine {
namespace {

bool is_numeric_tensor(const Value* v) {
  return !v || (v->type().is_tensor() && v->type().dtype() != DType::string);
}

class LateLaunch : public Launch {
 public:
  LateLaunch(std::unique_ptr<Executable> executable, std::vector<std::pair<int, Extent>> fed)
      : executable_(std::move(executable)), fed_(std::move(fed)) {}
  Status run(const Frame& frame) const override {
    Datums inputs;
    for (const auto& [i, extent] : fed_)
      inputs.emplace_back(borrowed_tensor(extent, frame.inputs[static_cast<std::size_t>(i)]));
    const Datums outputs = TENON_TRY(executable_->run(inputs, frame.pool));
    for (std::size_t i = 0; i < frame.outputs.size() && i < outputs.size(); ++i)
      if (const Tensor& t = outputs[i].tensor(); frame.outputs[i] && t.bytes())
        std::memcpy(frame.outputs[i], t.raw(), t.bytes());
    return {};
  }

 private:
  std::unique_ptr<Executable> executable_;
  std::vector<std::pair<int, Extent>> fed_;  // inputs of the node that the graph takes
};

class LateKernel : public Kernel {
 public:
  LateKernel(const Node& node, const Backend& backend) : node_(node), backend_(backend) {}

  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    auto graph = std::make_unique<Graph>();
    Values inputs;
    std::vector<std::pair<int, Extent>> fed;
    for (int i = 0; i < static_cast<int>(in.size()); ++i) {
      const Extent& e = in[static_cast<std::size_t>(i)];
      const Value* v = node_.input(i);
      if (!e.present())
        inputs.push_back(nullptr);
      else if (v && v->is_constant())
        inputs.push_back(graph->add_constant(v->name(), v->tensor()));
      else {
        inputs.push_back(graph->add_input(fmt::format("x{}", i), Type(e.dtype, to_shape(e.dims))));
        fed.emplace_back(i, Extent{e.dtype, e.dims, {}});
      }
    }
    GraphBuilder builder(*graph, ops::table());
    builder.set_origin(node_.name(), node_.origin());
    const Values made = builder.call(node_.op(), std::move(inputs), node_.attrs(), {},
                                     static_cast<int>(out.size()));
    if (!builder.status().ok()) return unsupported("{}", builder.status().error().message);
    for (std::size_t i = 0; i < made.size(); ++i) graph->add_output(made[i], fmt::format("y{}", i));
    CompileReport report;
    auto executable = TENON_TRY(compile(std::move(graph), backend_, {}, &report));
    if (!report.fallbacks.empty())
      return unsupported("{}: {}", report.fallbacks[0].op, report.fallbacks[0].reason);
    return std::unique_ptr<Launch>(
        std::make_unique<LateLaunch>(std::move(executable), std::move(fed)));
  }
  std::string describe() const override { return "compiled when its sizes are known"; }

 private:
  const Node& node_;
  const Backend& backend_;
};

}  // namespace

bool waits_for_sizes(const Node& node) {
  const Operator& op = node.op();
  for (Trait t : {Trait::control_flow, Trait::sequence, Trait::text, Trait::data_dependent})
    if (op.has(t)) return false;
  if (!node.regions().empty() ||
      !std::all_of(node.inputs().begin(), node.inputs().end(), is_numeric_tensor) ||
      !std::all_of(node.outputs().begin(), node.outputs().end(), is_numeric_tensor))
    return false;
  const auto is_unranked = [](const Value* v) { return v && !v->type().ranked(); };
  return std::any_of(node.inputs().begin(), node.inputs().end(), is_unranked);
}

std::unique_ptr<Kernel> late_kernel(const Node& node, const Backend& backend) {
  return std::make_unique<LateKernel>(node, backend);
}

}  // namespace tenon::engine
