// What a model is and what it costs, without running it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/ir/graph.h"

namespace tenon::migrate {

/// Work of one kind of operator, summed over the graph.
struct OperatorWork {
  std::string op;
  int count = 0;
  double flops = 0, bytes = 0;
};

struct Analysis {
  std::vector<OperatorWork> operators;  // largest work first
  double flops = 0, bytes = 0;          // of one run
  std::int64_t parameters = 0, weight_bytes = 0;
  int num_nodes = 0;
  int num_unknown = 0;  // nodes whose sizes depend on data, not counted
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
};

/// Work under `sizes`; regions of control flow count once.
Analysis analyze(const Graph& graph, const Bindings& sizes);

/// Work of one node, or nothing where its sizes are not known.
struct NodeWork {
  double flops = 0, bytes = 0;
};
std::optional<NodeWork> work_of(const Node& node, const Bindings& sizes);

}  // namespace tenon::migrate
