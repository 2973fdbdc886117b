// Rooflines, node by node.
#include "tenon/migrate/estimate.h"

#include <algorithm>

#include "tenon/ir/operator.h"
#include "tenon/migrate/analysis.h"

namespace tenon::migrate {
namespace {

// Most bytes of results alive at once, in program order.
std::int64_t live_peak(const Graph& graph, const Bindings& sizes) {
  std::vector<int> left(static_cast<std::size_t>(graph.num_value_ids()), 0);
  const auto bytes_of = [&](const Value* v) -> std::int64_t {
    if (!v || v->is_constant() || !v->type().is_tensor() || !v->type().ranked()) return 0;
    auto bytes = v->type().bytes().evaluate(sizes);
    return bytes.ok() ? *bytes : 0;
  };
  for (const Node* n : graph.nodes())
    for (const Value* v : n->inputs())
      if (v) ++left[static_cast<std::size_t>(v->id())];
  for (const Value* v : graph.outputs()) ++left[static_cast<std::size_t>(v->id())];
  std::int64_t now = 0, peak = 0;
  for (const Value* v : graph.inputs()) now += bytes_of(v);
  for (const Node* n : graph.nodes()) {
    for (const Value* v : n->outputs()) now += bytes_of(v);
    peak = std::max(peak, now);
    for (const Value* v : n->inputs())
      if (v && --left[static_cast<std::size_t>(v->id())] == 0) now -= bytes_of(v);
  }
  return peak;
}

}  // namespace

Estimate estimate(const Graph& graph, const Bindings& sizes, const Device& device,
                  Precision precision) {
  Estimate e;
  e.target = device.name;
  const double peak = std::max(1.0, device.peak(precision)),
               bandwidth = std::max(1.0, device.memory_bytes_per_second);
  for (const Node* n : graph.nodes()) {
    const auto work = work_of(*n, sizes);
    if (!work || (work->flops == 0 && n->op().has(Trait::view))) continue;
    const double compute = work->flops / peak * 1e3, memory = work->bytes / bandwidth * 1e3;
    (compute >= memory ? e.compute_ms : e.memory_ms) += std::max(compute, memory);
    e.launch_ms += device.launch_seconds * 1e3;
  }
  e.latency_ms = e.compute_ms + e.memory_ms + e.launch_ms;
  e.limited_by = e.compute_ms >= e.memory_ms && e.compute_ms >= e.launch_ms ? "compute"
                 : e.memory_ms >= e.launch_ms                               ? "memory"
                                                                            : "launches";
  e.memory_bytes = analyze(graph, sizes).weight_bytes + live_peak(graph, sizes);
  return e;
}

}  // namespace tenon::migrate
