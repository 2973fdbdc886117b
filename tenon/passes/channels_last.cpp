// channels_last: convolutions run over [n, spatial..., c], where the backend prefers it.
//
//   conv(x, w, b) -> T'(fused{ T conv T' }(T x, w, b))     T: to channels last, T': back
//
// The region still says what is computed in the model's own order of axes; the kernel reads and
// writes channels last. sink_transposes then moves the transposes outwards until they meet and
// cancel, so that data stays channels last between convolutions.
#include <map>

#include "tenon/passes/group_region.h"
#include "tenon/passes/layout.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool takes(const Node& node, const PassContext& context) {
  if (!node.op().has(Trait::contraction) || node.outputs().empty()) return false;
  const Value* x = node.input(0);
  return x && x->type().ranked() && x->type().ndim() >= 3 && x->type().ndim() <= 5 &&
         context.backend->prefers_channels_last(node);
}

// A step of training also reads each picture in the adjoint by the weights, which runs channels
// first: every layer would turn its pictures back.
bool trains(const Graph& graph) {
  for (const Node* node : graph.nodes())
    if (node->op().name == "conv_weight_adjoint") return true;
  return false;
}

}  // namespace

Result<int> channels_last(Graph& graph, const PassContext& context) {
  if (!context.backend || graph.name() == "fused" || trains(graph)) return 0;
  int wrapped = 0;
  std::map<const Value*, Value*> turned;  // one transpose for all readers of a value
  for (Node* node : graph.nodes()) {
    if (!takes(*node, context)) continue;
    Value* x = node->input(0);
    GraphBuilder builder(graph, ops::table(), node);
    if (!turned.contains(x)) {
      builder.set_origin(node->name() + ".in", node->origin());
      turned[x] = builder.call(builder.op("transpose"), {x},
                               Attrs{{"perm", to_channels_last(x->type().ndim())}})[0];
    }
    builder.set_origin(node->name(), node->origin());
    Value* y = run_channels_last(builder, *node, turned[x]);
    y->set_name(node->output(0)->name());
    graph.replace_uses(node->output(0), y);
    graph.erase(node);
    ++wrapped;
  }
  return wrapped;
}

}  // namespace tenon::passes
