// The wrapper around every pass.
#include "tenon/passes/pass.h"

#include <chrono>

#include "tenon/base/log.h"
#include "tenon/ir/verify.h"

namespace tenon::passes {

#define PASS(fn, doc) Result<int> fn(Graph& graph, const PassContext& context);
#include "tenon/passes/manifest.def"
#undef PASS

namespace {

Result<int> run_everywhere(const Pass& pass, Graph& graph, const PassContext& context) {
  int rewrites = 0;
  for (Node* node : graph.nodes())
    for (const auto& region : node->regions())
      if (region->name() != "fused")  // the inside of a group is final: kernels know its form
        rewrites += TENON_TRY(run_everywhere(pass, *region, context));
  return rewrites + TENON_TRY(pass.run(graph, context));
}

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
#define PASS(fn, doc) {#fn, doc, fn},
#include "tenon/passes/manifest.def"
#undef PASS
  };
  return passes;
}

const Pass* find_pass(std::string_view name) {
  for (const Pass& p : all_passes())
    if (p.name == name) return &p;
  return nullptr;
}

Result<std::vector<PassRecord>> run_passes(Graph& graph, const std::vector<std::string_view>& names,
                                           const PassContext& context,
                                           const std::set<std::string, std::less<>>& disabled) {
  std::vector<PassRecord> records;
  for (std::string_view name : names) {
    if (disabled.contains(name)) continue;
    const Pass* pass = find_pass(name);
    TENON_CHECK(pass != nullptr, "no pass is named {}", name);
    const auto start = std::chrono::steady_clock::now();
    const int rewrites =
        TENON_TRY_AT(fmt::format("pass {}", name), run_everywhere(*pass, graph, context));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    records.push_back({std::string(name), rewrites, seconds.count()});
    TENON_LOG("passes", 1, "{}: {} rewrites in {:.1f} ms", name, rewrites, seconds.count() * 1e3);
    if (Status ok = verify(graph); !ok.ok())
      TENON_CHECK(false, "pass {} broke the graph: {}", name, ok.error().text());
  }
  return records;
}

std::vector<std::string_view> inference_pipeline() {
  return {
      "dead_code", "fold_constants", "simplify", "common_subexpressions", "widen", "fuse_attention",
      "recognise_activations", "legalize", "fold_constants", "simplify", "common_subexpressions",
      // where data lies: constants move into weights, then transposes outwards until they cancel
      "fold_affine", "channels_last", "sink_transposes", "simplify", "fold_constants",
      "sink_transposes", "simplify", "common_subexpressions", "fold_transposes", "dead_code",
      // groups: what writes a tensor takes its steps first, reductions what is left
      "fuse_epilogue", "fuse_rows", "fuse_elementwise", "dead_code"};
}

}  // namespace tenon::passes
