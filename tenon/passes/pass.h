// Passes: graph to graph, one file each, run through one wrapper that times, counts and verifies.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/runtime/backend.h"

namespace tenon::passes {

/// What a pass may ask. The backend is nullptr where no device is meant (graph-only pipelines).
struct PassContext {
  const Backend* backend = nullptr;
  std::int64_t max_folded_bytes =
      std::int64_t{64} << 20;  // larger results stay computed: constants must not explode
  /// The graph whose inputs give memory up to outputs.
  const Graph* donor = nullptr;
  std::vector<int> donated_outputs;  // those that take the memory
};

/// Rewrites a graph in place and returns the number of rewrites. Idempotent: a second run returns
/// 0.
struct Pass {
  std::string_view name, doc;
  Result<int> (*run)(Graph& graph, const PassContext& context);
};

/// Every pass of manifest.def, by name.
const std::vector<Pass>& all_passes();
const Pass* find_pass(std::string_view name);

/// What one pass did.
struct PassRecord {
  std::string name;
  int rewrites = 0;
  double seconds = 0;
};

/// Runs passes in order over the graph and all its regions. `disabled` names are skipped. Verifies
/// after each pass (a broken graph is our fault). TENON_LOG=passes:1 shows the counts.
Result<std::vector<PassRecord>> run_passes(Graph& graph, const std::vector<std::string_view>& names,
                                           const PassContext& context,
                                           const std::set<std::string, std::less<>>& disabled = {});

/// The pipeline for execution on a backend.
std::vector<std::string_view> inference_pipeline();

}  // namespace tenon::passes
