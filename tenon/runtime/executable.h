// A compiled graph: kernels for its nodes, run under any sizes that its types allow.
//
// For each distinct set of input sizes an ExecutionPlan is made once: every size is evaluated,
// shape computations become constants, buffers get arena offsets, kernels are bound. A graph whose
// sizes depend on data (or that holds sequences or text) runs node by node instead.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tenon/runtime/backend.h"

namespace tenon {

class ExecutionPlan;

/// What happened to one node when the graph was compiled.
struct CompiledNode {
  const Node* node = nullptr;
  std::shared_ptr<const Kernel> kernel;  // nullptr: the interpreter runs it
  std::string fallback_reason;           // why there is no kernel
};

/// Memory of one plan, for reports.
struct MemoryUse {
  std::int64_t arena_bytes = 0;        // activations and workspaces
  std::int64_t lower_bound_bytes = 0;  // most activation bytes alive at once
  std::int64_t no_reuse_bytes = 0;     // every activation in a buffer of its own
  std::int64_t weight_bytes = 0;
  std::int64_t donated_bytes = 0;  // outputs written over the inputs given up for them
  std::int64_t copied_bytes = 0;   // the same, but computed elsewhere and copied there
};

/// Output `output` takes the memory of input `input`, which the caller gives up: after a run the
/// output's tensor is that input's, with new elements. Types are equal. A planned run writes there
/// directly where every reader of the input has run by then, and copies at the end otherwise;
/// node-by-node runs make new memory. A run that fails leaves donated inputs in part overwritten.
struct Donation {
  int output = 0, input = 0;
};

class Executable {
 public:
  /// Called with each node and its outputs, in execution order; an error stops the run.
  using Observer = std::function<Status(const Node& node, const Datums& outputs)>;
  /// Seconds that one node took.
  using Timer = std::function<void(const Node& node, double seconds)>;

  /// A node whose kernel declined the sizes of some run, so that the interpreter ran it.
  struct Declined {
    std::string node, op, reason;
    friend auto operator<=>(const Declined&, const Declined&) = default;
  };

  /// Takes the graph. `kernels` has one entry for each node of the graph, regions not included;
  /// `regions` holds an executable for every region of control flow nodes.
  Executable(std::unique_ptr<Graph> graph, std::vector<CompiledNode> kernels,
             std::map<const Graph*, std::unique_ptr<Executable>> regions);
  ~Executable();

  /// Says which inputs are given up to which outputs, before the first run. Each input and each
  /// output at most once.
  void set_donations(std::vector<Donation> donations);
  const std::vector<Donation>& donations() const { return donations_; }

  const Graph& graph() const { return *graph_; }
  /// Nodes with their kernels, in execution order; those of regions are in regions().
  const std::vector<CompiledNode>& nodes() const { return kernels_; }
  const std::map<const Graph*, std::unique_ptr<Executable>>& regions() const { return regions_; }

  /// Runs the graph. Inputs are checked against the graph's types; the error names the input.
  /// Thread-safe: each concurrent run has its own arena.
  Result<Datums> run(const Datums& inputs, ThreadPool& pool) const;
  /// The same node by node, showing every intermediate value.
  Result<Datums> run_observed(const Datums& inputs, ThreadPool& pool,
                              const Observer& observer) const;
  /// One run with the time of each node.
  Status run_timed(const Datums& inputs, ThreadPool& pool, const Timer& timer) const;
  /// Runs a region of one of the nodes: compiled, or interpreted where its node had a kernel of its
  /// own that declined the sizes.
  Result<Datums> run_region(const Graph& region, Datums inputs, ThreadPool& pool) const;
  /// Memory for inputs of these sizes, or unsupported when sizes depend on data.
  Result<MemoryUse> memory(const Datums& inputs) const;
  /// What kernels have declined in the runs so far, regions included, each once.
  std::vector<Declined> declined() const;
  /// Whether every size follows from input sizes, so that runs are planned.
  bool is_static() const { return is_static_; }

 private:
  friend class ExecutionPlan;
  Result<Datums> run_dynamic(const Datums& inputs, ThreadPool& pool, const Observer* observer,
                             const Timer* timer) const;
  Result<Datums> run_node(const CompiledNode& compiled, const Datums& inputs,
                          ThreadPool& pool) const;
  Result<std::shared_ptr<ExecutionPlan>> plan_for(const Datums& inputs,
                                                  const Bindings& bindings) const;
  Status check_inputs(const Datums& inputs, Bindings& bindings) const;

  void note_declined(const Node& node, const std::string& reason) const;

  std::unique_ptr<Graph> graph_;
  std::vector<CompiledNode> kernels_;
  std::map<const Graph*, std::unique_ptr<Executable>> regions_;
  std::vector<Donation> donations_;
  bool is_static_ = false;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::set<Declined> declined_;
  mutable std::map<std::vector<Dims>, std::shared_ptr<ExecutionPlan>> plans_;
  mutable std::map<std::pair<const Node*, std::vector<Dims>>, std::shared_ptr<const Launch>>
      launches_;  // of node-by-node runs
};

}  // namespace tenon
