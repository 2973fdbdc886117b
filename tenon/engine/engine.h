// What turns a Graph into an Executable: the pass pipeline, then a kernel for every node.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tenon/passes/pass.h"
#include "tenon/runtime/executable.h"

namespace tenon::engine {

/// The backends of this build, by name: "cpu", "reference", "null". not_found lists them.
Result<const Backend*> backend_named(std::string_view name);
std::vector<std::string_view> backend_names();

struct CompileOptions {
  std::set<std::string, std::less<>> disabled_passes;
  bool optimize = true;             // false: only what the backend needs to run the graph at all
  std::vector<Donation> donations;  // inputs given up to outputs
  bool is_final =
      false;  // the graph has been through the passes for this backend already (a bundle)
};

/// A node that the interpreter will run.
struct Fallback {
  std::string node, op, reason;
};

struct CompileReport {
  std::vector<passes::PassRecord> passes;
  std::vector<Fallback> fallbacks;
  std::vector<std::pair<std::string, std::string>> mapping;  // node -> what runs it
  int num_nodes_before = 0, num_nodes_after = 0;
  double seconds = 0;
};

/// Compiles a graph for a backend. Nodes that it declines run in the interpreter; `report` names
/// them.
Result<std::unique_ptr<Executable>> compile(std::unique_ptr<Graph> graph, const Backend& backend,
                                            const CompileOptions& options,
                                            CompileReport* report = nullptr);

}  // namespace tenon::engine
